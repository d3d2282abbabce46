"""Settings of the sockets of pages that make losses short, and the number of packets that were sent again.

Always: a setting that this system does not have is left out.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import sys
from asyncio import BaseTransport

# Options of linux/tcp.h. Without the first, the time until a packet is sent again doubles with each further loss, also
# in a stream of few packets. The second (Linux 6.15) is the least such time, usually 200 ms.
TCP_THIN_LINEAR_TIMEOUTS, TCP_RTO_MIN_US = 16, 45
# Above the 40 ms by which Linux delays acknowledgements, so that hardly a packet is sent again in vain.
LEAST_TIMEOUT_US = 50_000
# Place of `tcpi_total_retrans` in `struct tcp_info` of linux/tcp.h, a u4.
RETRANSMISSIONS_AT = 100


def set_up(transport: BaseTransport) -> None:
    """Applies the settings to a connection."""
    connection = transport.get_extra_info("socket")
    # asyncio does this only for sockets of a known protocol. Otherwise a small snapshot waits in the kernel for the
    # acknowledgement of the one before (Nagle 1984), which is a round trip.
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if sys.platform == "linux":
        for option, value in ((TCP_THIN_LINEAR_TIMEOUTS, 1), (TCP_RTO_MIN_US, LEAST_TIMEOUT_US)):
            with contextlib.suppress(OSError):
                connection.setsockopt(socket.IPPROTO_TCP, option, value)


def retransmissions(transport: BaseTransport) -> int:
    """Number of packets of a connection that were sent again so far; 0 if the system does not tell."""
    if sys.platform != "linux":
        return 0
    size = RETRANSMISSIONS_AT + 4
    try:
        info = transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, size)
    except OSError:  # it has been closed
        return 0
    return int(struct.unpack_from("<I", info, RETRANSMISSIONS_AT)[0]) if len(info) == size else 0

"""Settings of the sockets of pages for small messages, and the number of packets that TCP has sent again.

Always: a setting that this system does not have is left out.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import sys
from asyncio import BaseTransport

# Option of linux/tcp.h, since Linux 6.15: least time until a packet that nobody acknowledges is sent again, usually
# 200 ms. With 50 ms, a lost packet of a stream of 5 a second over 20 ms each way is sent again after 100 ms (p50)
# instead of 240; at 20 and 60 a second nothing changes. With 20 ms, packets were sent again in vain at 60 a second.
# TCP_THIN_LINEAR_TIMEOUTS changed nothing.
TCP_RTO_MIN_US, LEAST_TIMEOUT_US = 45, 50_000
# Place of `tcpi_total_retrans` in `struct tcp_info` of linux/tcp.h, a u4.
RETRANSMISSIONS_AT = 100


def set_up(transport: BaseTransport) -> None:
    """Applies the settings to a connection."""
    connection = transport.get_extra_info("socket")
    # asyncio does this only for sockets of a known protocol. Otherwise a small snapshot waits in the kernel for the
    # acknowledgement of the one before (Nagle 1984), which is a round trip.
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            connection.setsockopt(socket.IPPROTO_TCP, TCP_RTO_MIN_US, LEAST_TIMEOUT_US)


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

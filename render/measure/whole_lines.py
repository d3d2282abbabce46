"""A text file that grows by whole lines: a disk that is full ends it between two of them.

Always: what is written goes out in large pieces; where a piece does not fit, the file ends with the last line of it
that does, and OSError is raised once.
"""

from __future__ import annotations

import contextlib
import os


class WholeLines:
    """path: made anew. piece_bytes: the disk is asked once in so many. Raises OSError where it cannot be made."""

    def __init__(self, path: str, piece_bytes: int) -> None:
        self._file = open(path, "wb", buffering=0)  # noqa: SIM115  (closed by `close`)
        self._piece_bytes = piece_bytes
        self._waiting: list[str] = []
        self._waiting_bytes = 0

    def write(self, line: str) -> int:
        """One line or more, whole ones. Raises OSError, and then the file is over."""
        self._waiting.append(line)
        self._waiting_bytes += len(line)
        if self._waiting_bytes >= self._piece_bytes:
            self.flush()
        return len(line)

    def flush(self) -> None:
        """What waits goes out. Raises OSError, and then the file is over."""
        piece = "".join(self._waiting).encode()
        self._waiting, self._waiting_bytes = [], 0
        gone = 0
        try:
            while gone < len(piece):
                gone += self._file.write(piece[gone:]) or 0
        except OSError:
            torn_bytes = gone - (piece.rfind(b"\n", 0, gone) + 1)
            with contextlib.suppress(OSError):  # no file that has an end, such as a pipe
                if torn_bytes:
                    os.ftruncate(self._file.fileno(), self._file.tell() - torn_bytes)
            self._file.close()
            raise

    def close(self) -> None:
        """What waits goes out, and the file is closed. Raises OSError."""
        if not self._file.closed:
            self.flush()
            self._file.close()

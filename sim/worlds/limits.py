"""How many bodies a built-in world may be asked for: said before any memory is taken."""

from __future__ import annotations

from twixt.ipc.errors import TwixtError

GIB = 2**30


def check_count(count: int, most: int, of_what: str, bytes_each: int) -> None:
    """Raises TwixtError unless `count` is a whole number from 1 to `most`. bytes_each: what one takes in all."""
    if isinstance(count, int) and 1 <= count <= most:
        return
    need = ""
    if isinstance(count, int) and count > most:
        need = f", which would need {count * bytes_each / GIB:,.1f} GiB; {most} need {most * bytes_each / GIB:.2f} GiB"
    raise TwixtError(f"count must be from 1 to {most} {of_what}, got {count}{need}")

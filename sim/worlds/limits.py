"""How many bodies a built-in world may be asked for: said before any memory is taken."""

from __future__ import annotations

from twixt.ipc.errors import TwixtError

SPELLED_OUT = 10**15


def check_count(count: int, most: int, of_what: str, bytes_each: int) -> None:
    """Raises TwixtError unless `count` is a whole number from 1 to `most`. bytes_each: what one takes in all."""
    if isinstance(count, int) and 1 <= count <= most:
        return
    need, said = "", str(count)
    if isinstance(count, int) and count > most:
        said = said if count < SPELLED_OUT else "far more"
        need = f", which would need {_mib(min(count, SPELLED_OUT) * bytes_each)}; {most} need {_mib(most * bytes_each)}"
    raise TwixtError(f"count must be from 1 to {most} {of_what}, got {said}{need}")


def _mib(size: int) -> str:
    return f"{size >> 20:,} MiB"

"""What the user wants of a clock, as it is now: a mode reads it in every frame, so a change takes effect in the next."""

from __future__ import annotations

from dataclasses import dataclass

from twixt.ipc.config import PREFERENCES
from twixt.ipc.errors import TwixtError

MAX_BUFFER_MS = 60_000.0


@dataclass
class Wishes:
    """prefer: what a stall costs. latency: nothing, play to the last snapshot, then hold. balanced: some room, to brake
    in it. smooth: as much latency as the longest stall of the last minutes needed, so that only the first one shows.
    buffer_ms: the delay of the mode `buffered`; None: as measured jitter asks for.
    """

    prefer: str = "latency"
    buffer_ms: float | None = None

    def __setattr__(self, name: str, value: object) -> None:
        if name == "prefer" and value not in PREFERENCES:
            raise TwixtError(f"prefer must be one of {', '.join(PREFERENCES)}, got {value!r}")
        if name == "buffer_ms" and value is not None:
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= MAX_BUFFER_MS:
                raise TwixtError(
                    f"buffer_ms must be 0 to {MAX_BUFFER_MS:.0f}, or None to measure the jitter, got {value!r}"
                )
            value = float(value)
        super().__setattr__(name, value)

"""What all targets share: a corpus of real inputs, one input fed at a time, and what it was for whoever looks."""

from __future__ import annotations

from tests.long.hostile.mutate import Mutator


class Target:
    """Feeds one spoilt input a call. A TwixtError is a clean refusal; anything else that is raised is a fault."""

    def __init__(self, mutator: Mutator) -> None:
        self.mutator = mutator
        self.fed: object = None

    def __enter__(self) -> Target:
        return self

    def __exit__(self, *_: object) -> None:
        """What was opened is closed; faults that other threads had are raised."""

    def feed(self) -> None:
        """The next input."""
        raise NotImplementedError

    def told(self) -> str:
        """The last input, shortened."""
        said = repr(self.fed)
        return said if len(said) < 3000 else f"{said[:1500]} ... {said[-1500:]} ({len(said)} characters)"

"""Types of a user's own interpolation method, for `--interpolation module:Class`. They are for type checkers and
editors: a class needs no base class."""

from __future__ import annotations

from typing import Protocol

from numpy.typing import ArrayLike

from twixt.ipc.snapshot import Snapshot


class SampledPoses(Protocol):
    """Result of `InterpolationMethod.sample`: the poses of n bodies. Row i is body i.

    The result may also have `scale` (n,), `color` (n, 4), `visible` (n,), `columns` (arrays by name) and
    `draw_time_ns`. If one of these attributes is missing, its value is taken from the snapshot at or before the draw
    time.
    """

    @property
    def position(self) -> ArrayLike:
        """Positions, (n, 3), metres."""
        ...

    @property
    def orientation(self) -> ArrayLike:
        """Orientations, (n, 4), quaternions xyzw of any length above 0."""
        ...


class InterpolationMethod(Protocol):
    """An interpolation method: it stores snapshots, and computes the poses at a draw time between them.

    Your class needs no base class, and is created without arguments. The class may have an attribute `reach_ns`, the
    longest time beyond the newest snapshot that the method can draw, in ns of simulated time. The method runs in the
    viewer's process.

    Examples:
        Save this method as newest.py, and run `twixt run --interpolation newest:Newest`.

        ```python
        from types import SimpleNamespace
        from twixt import Snapshot

        class Newest:
            def add(self, snapshot: Snapshot) -> None:
                self.bodies = snapshot.bodies

            def sample(self, draw_time_ns: int) -> SimpleNamespace:
                return SimpleNamespace(position=self.bodies["position"], orientation=self.bodies["orientation"])

            def reset(self) -> None:
                del self.bodies
        ```
    """

    def add(self, snapshot: Snapshot) -> None:
        """Stores a snapshot.

        Args:
            snapshot: Snapshots arrive in order of `sim_time_ns`, but a few may arrive late. If two snapshots have the
                same `sim_time_ns`, the second snapshot replaces the first.
        """
        ...

    def sample(self, draw_time_ns: int) -> SampledPoses:
        """Returns the poses of all bodies at a simulated time. The first call comes after the first `add`.

        Args:
            draw_time_ns: Simulated time in ns.

        Returns:
            An object with `position`, (n, 3) in metres, and `orientation`, (n, 4) quaternions xyzw of any length above
            0. The object may also have `scale` (n,), `color` (n, 4), `visible` (n,), `columns` (arrays by name) and
            `draw_time_ns`. If one of these attributes is missing, its value is taken from the snapshot at or before
            the draw time.
        """
        ...

    def reset(self) -> None:
        """Removes all snapshots. The viewer calls this method when the world restarts."""
        ...

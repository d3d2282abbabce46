"""The last few values of something, and where they lie. Pure."""

from __future__ import annotations

from collections import deque


class Recent:
    """The last `size` values added."""

    def __init__(self, size: int) -> None:
        self._values: deque[int] = deque(maxlen=size)

    def __len__(self) -> int:
        return len(self._values)

    def add(self, value: int) -> None:
        self._values.append(value)

    def clear(self) -> None:
        self._values.clear()

    def quantile(self, share: float, unknown: int = 0) -> int:
        """The smallest value that at least `share` of them do not exceed; `unknown` where there are none."""
        if not self._values:
            return unknown
        ordered = sorted(self._values)
        return ordered[min(len(ordered) - 1, max(0, -int(-share * len(ordered) // 1) - 1))]

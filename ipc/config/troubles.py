"""This module defines the settings of injected trouble: slow steps, stalls, dropped snapshots and delayed snapshots. A
preset combines several of these settings.

Each kind of trouble has one rule for its figures. The same rule applies to flags, presets and the viewer's commands.
Always: `Troubles()` means no trouble. `Config` and `Command` check figures before they are used. This module imports
only the standard library. Not here: the code that injects the trouble (`sim`).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

# Longest work added to a step and longest stall, in ms. During a longer time the world would seem to hang, and
# commands would have to wait for the end of that time.
LONGEST_MS = 60_000.0
# Shortest and longest interval between two stalls, in simulated seconds. A shorter interval would have the same effect
# as `--slow-physics`. A longer interval would be longer than any run.
SHORTEST_EVERY_S, LONGEST_EVERY_S = 0.001, 86_400.0
# Longest delay of a snapshot, in ms. There is a limit because delayed snapshots stay in memory.
LONGEST_DELAY_MS = 10_000.0

TROUBLE_RULES = {
    "slow_physics": f"shortest and longest in ms, 0 <= shortest <= longest <= {LONGEST_MS:g}",
    "stall": f"length in ms and interval in seconds (every_s), 0 <= ms <= {LONGEST_MS:g} and "
    f"{SHORTEST_EVERY_S:g} <= every_s <= {LONGEST_EVERY_S:g}",
    "drop": "a percentage, 0 <= percent <= 100",
    "delay": f"mean and jitter in ms, 0 <= jitter <= mean and mean + jitter <= {LONGEST_DELAY_MS:g}",
}

# For each kind of trouble: name of the field in `Troubles` and `Config` that has the figures of this kind. The command
# that changes these figures has the name of the kind.
FIELDS = {"slow_physics": "slow_physics_ms", "stall": "stall", "drop": "drop_percent", "delay": "delay_ms"}
# For each kind of trouble: format that writes the figures in the form in which a user types them.
FORMS = {"slow_physics": "{:g}-{:g}", "stall": "{:g}@{:g}", "delay": "{:g}+-{:g}"}


def breaks_rule(kind: str, value: Any) -> bool:
    """True if `value` breaks `TROUBLE_RULES[kind]`. False for None, which means no trouble of that kind."""
    if value is None:
        return False
    if kind == "drop":
        return not (_is_number(value) and 0 <= value <= 100)
    if not isinstance(value, list | tuple) or len(value) != 2 or not all(_is_number(each) for each in value):
        return True
    first, second = value
    if kind == "slow_physics":
        return not 0 <= first <= second <= LONGEST_MS
    if kind == "stall":
        return not (0 <= first <= LONGEST_MS and SHORTEST_EVERY_S <= second <= LONGEST_EVERY_S)
    return not (0 <= second <= first and first + second <= LONGEST_DELAY_MS)


def _is_number(value: Any) -> bool:
    # `math.isfinite` cannot be used: it raises an exception for very long whole numbers, and a message may contain
    # such numbers. Because of the limit, sums of figures also stay in range.
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1 << 63


@dataclass(frozen=True)
class Troubles:
    """Figures of all kinds of trouble. A field that is None means no trouble of that kind; for `drop_percent`, 0 means
    no trouble."""

    slow_physics_ms: tuple[float, float] | None = None  # shortest and longest work that is added to each step, in ms
    # length of a stall in ms of wall time; interval between two stalls in s of simulated time
    stall: tuple[float, float] | None = None
    drop_percent: float = 0.0  # percentage of snapshots that are never published
    # mean and jitter of the delay between the due instant and the publish, in ms
    delay_ms: tuple[float, float] | None = None

    def tidy(self) -> Troubles:
        """Returns a copy of the settings. Each pair of figures that has no effect is replaced by None."""
        kept: dict[str, Any] = dict(vars(self))
        for name, decides in (("slow_physics_ms", 1), ("stall", 0), ("delay_ms", 0)):
            if kept[name] is not None and not kept[name][decides]:
                kept[name] = None
        return Troubles(**kept)

    def to_status(self) -> dict[str, Any]:
        """Returns the figures by field name, for a status message. Pairs become lists."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}


# Each delay is one-way: it is half of a typical round-trip time. Typical round-trip times are under 1 ms over a
# switch, about 12 ms over a shared access point, and about 100 ms over LTE. The last two presets are examples; their
# figures have no source.
PRESETS = {
    "lan": Troubles(delay_ms=(0.4, 0.2)),  # a wired network
    "wifi": Troubles(delay_ms=(6.0, 5.0), drop_percent=1.0),  # a busy access point
    "mobile": Troubles(delay_ms=(50.0, 25.0), drop_percent=2.0, stall=(300.0, 15.0)),  # a phone connection
    "slow": Troubles(slow_physics_ms=(20.0, 120.0)),  # a machine that is too slow for the world
    "stalls": Troubles(stall=(500.0, 5.0)),  # half a second without physics, every 5 s
}

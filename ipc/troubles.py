"""Trouble on purpose, as figures: what was asked for, and the presets that ask for several at once.

One idea: a kind of trouble has one rule for its figures, here, whether they come from a flag, a preset or a
viewer's knob. Always: the values of a `Troubles` keep their rules; its default is no trouble at all.
Standard library only. Makes no trouble: that is `sim.trouble`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

# Nobody can tell a world that hangs from one that is troubled longer than this, in ms; a click waits as long.
LONGEST_MS = 60_000.0
# Simulated time between two stalls: a shorter one is `--slow-physics`, a longer one is never seen, in seconds.
SHORTEST_EVERY_S, LONGEST_EVERY_S = 0.001, 86_400.0
# A link that is this much behind holds as many snapshots in memory, in ms.
LONGEST_DELAY_MS = 10_000.0

RULES = {
    "slow_physics": f"shortest and longest in ms, 0 <= shortest <= longest <= {LONGEST_MS:g}",
    "stall": f"ms every so many seconds (every_s), 0 <= ms <= {LONGEST_MS:g} and {SHORTEST_EVERY_S:g} <= every_s <= {LONGEST_EVERY_S:g}",
    "drop": "a percentage of snapshots, 0 <= percent <= 100",
    "delay": f"mean and jitter in ms, 0 <= jitter <= mean and mean + jitter <= {LONGEST_DELAY_MS:g}",
}

# The kinds, which are the names of the commands that change them, and where their figures stand in `Troubles`.
FIELDS = {"slow_physics": "slow_physics_ms", "stall": "stall", "drop": "drop_percent", "delay": "delay_ms"}
# How the figures of a kind are typed.
FORMS = {"slow_physics": "{:g}-{:g}", "stall": "{:g}@{:g}", "delay": "{:g}+-{:g}"}


def breaks_rule(kind: str, value: Any) -> bool:
    """Whether `value` is not what `RULES[kind]` says; None, for none of it, is always right."""
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
    # A comparison, and not math.isfinite: whole numbers of any length come over the connection, and no sum may overflow.
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1 << 63


@dataclass(frozen=True)
class Troubles:
    """Figures of all kinds; None, or 0 percent, for none of it."""

    slow_physics_ms: tuple[float, float] | None = None  # real work added to every step: shortest, longest
    stall: tuple[float, float] | None = None  # real waiting, ms, every so many seconds of simulated time
    drop_percent: float = 0.0  # of the snapshots, never published
    delay_ms: tuple[float, float] | None = None  # after the due instant: mean, and at most so much off it

    def tidy(self) -> Troubles:
        """The same, where what amounts to none of it is None."""
        kept: dict[str, Any] = dict(vars(self))
        for name, decides in (("slow_physics_ms", 1), ("stall", 0), ("delay_ms", 0)):
            if kept[name] is not None and not kept[name][decides]:
                kept[name] = None
        return Troubles(**kept)

    def to_status(self) -> dict[str, Any]:
        """JSON-able, for viewers: pairs as lists."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}


@dataclass(frozen=True)
class Preset:
    """Several troubles under one name. about: what has such figures."""

    about: str
    troubles: Troubles


# Delays are one way, and typical rather than best: a switch, a shared access point, and LTE, a half of the round
# trips (under 1, about 12, about 100 ms) that such links are known for. The other two are this design's own examples.
PRESETS = {
    "lan": Preset("a wired network", Troubles(delay_ms=(0.4, 0.2))),
    "wifi": Preset("a busy access point", Troubles(delay_ms=(6.0, 5.0), drop_percent=1.0)),
    "mobile": Preset("a phone under way", Troubles(delay_ms=(50.0, 25.0), drop_percent=2.0, stall=(300.0, 15.0))),
    "slow": Preset("a machine too slow for the world", Troubles(slow_physics_ms=(20.0, 120.0))),
    "stalls": Preset("half a second lost now and then", Troubles(stall=(500.0, 5.0))),
}


def flags_of(troubles: Troubles) -> str:
    """As it would be typed: `--stall 500@5 --drop 2`."""
    said = []
    if troubles.slow_physics_ms is not None:
        said.append("--slow-physics " + FORMS["slow_physics"].format(*troubles.slow_physics_ms))
    if troubles.stall is not None:
        said.append("--stall " + FORMS["stall"].format(*troubles.stall))
    if troubles.drop_percent:
        said.append(f"--drop {troubles.drop_percent:g}")
    if troubles.delay_ms is not None:
        said.append("--delay " + FORMS["delay"].format(*troubles.delay_ms))
    return " ".join(said)


def say_presets() -> str:
    """All presets with their figures, one line."""
    return "; ".join(f"{name}, {preset.about}: {flags_of(preset.troubles)}" for name, preset in PRESETS.items())

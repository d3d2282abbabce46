"""Settings of injected trouble (slow steps, stalls, dropped and delayed snapshots), and presets of several.

Each kind of trouble has one rule for its figures, which flags, presets and the viewer's commands share.
Always: the default of `Troubles` is no trouble; `Config` and `Command` check figures before they are used. Imports the
standard library only. Not here: the injection (`sim`).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

# Longest extra step or stall, ms. A longer one looks like a world that hangs, and delays commands as long.
LONGEST_MS = 60_000.0
# Interval between two stalls, simulated seconds. A shorter one is `--slow-physics`; a longer one exceeds any run.
SHORTEST_EVERY_S, LONGEST_EVERY_S = 0.001, 86_400.0
# Longest delay, ms: snapshots are kept in memory while they are delayed.
LONGEST_DELAY_MS = 10_000.0

TROUBLE_RULES = {
    "slow_physics": f"shortest and longest in ms, 0 <= shortest <= longest <= {LONGEST_MS:g}",
    "stall": f"ms every so many seconds (every_s), 0 <= ms <= {LONGEST_MS:g} and "
    f"{SHORTEST_EVERY_S:g} <= every_s <= {LONGEST_EVERY_S:g}",
    "drop": "a percentage of snapshots, 0 <= percent <= 100",
    "delay": f"mean and jitter in ms, 0 <= jitter <= mean and mean + jitter <= {LONGEST_DELAY_MS:g}",
}

# Kind -> field of its figures in `Troubles` and `Config`. A kind is also the name of the command that changes it.
FIELDS = {"slow_physics": "slow_physics_ms", "stall": "stall", "drop": "drop_percent", "delay": "delay_ms"}
# Format of the figures of a kind, as a user types them.
FORMS = {"slow_physics": "{:g}-{:g}", "stall": "{:g}@{:g}", "delay": "{:g}+-{:g}"}


def breaks_rule(kind: str, value: Any) -> bool:
    """True if `value` breaks `TROUBLE_RULES[kind]`. None, no trouble of that kind, breaks no rule."""
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
    # A comparison: math.isfinite raises for the long whole numbers that a message may hold, and sums of them overflow.
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1 << 63


@dataclass(frozen=True)
class Troubles:
    """Figures of all kinds of trouble. None, or 0 percent: no trouble of that kind."""

    slow_physics_ms: tuple[float, float] | None = None  # work added to every step: shortest, longest
    stall: tuple[float, float] | None = None  # length, ms of wall time; interval, s of simulated time
    drop_percent: float = 0.0  # share of snapshots that are never published
    delay_ms: tuple[float, float] | None = None  # after the due instant: mean, jitter

    def tidy(self) -> Troubles:
        """A copy in which pairs of figures without effect are None."""
        kept: dict[str, Any] = dict(vars(self))
        for name, decides in (("slow_physics_ms", 1), ("stall", 0), ("delay_ms", 0)):
            if kept[name] is not None and not kept[name][decides]:
                kept[name] = None
        return Troubles(**kept)

    def to_status(self) -> dict[str, Any]:
        """The figures by name, for a status message; pairs as lists."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}


@dataclass(frozen=True)
class Preset:
    """Several troubles under one name. about: the network or machine that has such figures."""

    about: str
    troubles: Troubles


# Delays are one way, half of typical round trips: under 1 ms over a switch, about 12 ms over a shared access point,
# about 100 ms over LTE. The last two presets are examples without a source.
PRESETS = {
    "lan": Preset("a wired network", Troubles(delay_ms=(0.4, 0.2))),
    "wifi": Preset("a busy access point", Troubles(delay_ms=(6.0, 5.0), drop_percent=1.0)),
    "mobile": Preset("a phone under way", Troubles(delay_ms=(50.0, 25.0), drop_percent=2.0, stall=(300.0, 15.0))),
    "slow": Preset("a machine too slow for the world", Troubles(slow_physics_ms=(20.0, 120.0))),
    "stalls": Preset("half a second lost now and then", Troubles(stall=(500.0, 5.0))),
}


def flags_of(troubles: Troubles) -> str:
    """Flags that set these troubles, such as `--stall 500@5 --drop 2`."""
    flags = []
    if troubles.slow_physics_ms is not None:
        flags.append("--slow-physics " + FORMS["slow_physics"].format(*troubles.slow_physics_ms))
    if troubles.stall is not None:
        flags.append("--stall " + FORMS["stall"].format(*troubles.stall))
    if troubles.drop_percent:
        flags.append(f"--drop {troubles.drop_percent:g}")
    if troubles.delay_ms is not None:
        flags.append("--delay " + FORMS["delay"].format(*troubles.delay_ms))
    return " ".join(flags)


def presets_text() -> str:
    """Text of one line for `--help`: each preset, its description and its flags."""
    return "; ".join(f"{name}, {preset.about}: {flags_of(preset.troubles)}" for name, preset in PRESETS.items())

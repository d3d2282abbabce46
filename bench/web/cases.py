"""Cases of the bench: which world is measured at which rate of physics over which way, and for how long. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.web.link import LinkShape

WORLDS = {
    "metronome": ("metronome",),
    "runner": ("bench.web.bare_runner:BareRunner",),
    "balls": ("balls", "--set", "count=1000"),
}
RATES_HZ = (60, 20, 5)
# Rates of a world that are measured if all rates are asked for, and that world. 1,000 balls load the machine most.
BALLS, BALLS_RATES_HZ = "balls", RATES_HZ[:1]
# A lost packet is rare: at 0.1 % and 60 snapshots a second, one in 17 s. So runs with loss are longer by this factor.
LOSS_LENGTH = 6


@dataclass(frozen=True)
class Way:
    """How the snapshots of a world get to its page. shape: faults of the link between server and browser; None for the
    loopback. options: of `twixt sim`. rates_hz: rates that are measured if all are asked for. is_full: True if the
    snapshots of `BALLS` are to fill the link: then they are sent in full, and the age has a target. has_targets: False
    if a link is so bad that its figures are only told. is_ssh: True if the page reaches the server through `ssh -L`, so
    that its two connections share one of TCP."""

    shape: LinkShape | None = None
    options: tuple[str, ...] = ()
    rates_hz: tuple[int, ...] = RATES_HZ
    is_full: bool = False
    has_targets: bool = True
    is_ssh: bool = False

    @property
    def length(self) -> int:
        """Length of a run, as a multiple of the usual one."""
        return LOSS_LENGTH if self.shape is not None and self.shape.loss else 1


LINKS = {
    "loopback": Way(),
    "delay and drop": Way(options=("--delay", "80+-20", "--drop", "5")),
    "80+-20 ms": Way(LinkShape(delay_ms=80, jitter_ms=20)),
    "0.1 % loss": Way(LinkShape(delay_ms=20, loss=0.001), rates_hz=RATES_HZ[:2]),
    "5 % loss": Way(LinkShape(delay_ms=20, loss=0.05), rates_hz=RATES_HZ[:2], has_targets=False),
    "20 Mbit/s": Way(LinkShape(delay_ms=20, mbit_s=20), rates_hz=RATES_HZ[:1], is_full=True),
    "20 Mbit/s by ssh": Way(LinkShape(delay_ms=20, mbit_s=20), rates_hz=RATES_HZ[:1], is_full=True, is_ssh=True),
}


@dataclass(frozen=True)
class Case:
    """A run. rate_hz: rate of physics. is_watched: True if the observer reads the screen."""

    world: str
    rate_hz: int
    link: str
    is_watched: bool = False

    @property
    def name(self) -> str:
        return f"{self.world}, {self.rate_hz} Hz, {self.link}" + (", by the screen" if self.is_watched else "")

    @property
    def way(self) -> Way:
        return LINKS[self.link]

    @property
    def is_full(self) -> bool:
        """True if full records are sent, which need more than the link carries if the rate is high enough."""
        return self.way.is_full and self.world == BALLS

    def age_wanted_ms(self, message_bytes: float, frame_ms: float) -> float | None:
        """Largest age that a full link may cause: 2 x (one-way delay + size / bandwidth + interval + frame). None if
        this case does not fill its link."""
        shape = self.way.shape
        if not self.is_full or shape is None:
            return None
        return 2 * (shape.delay_ms + message_bytes * 8e-3 / shape.mbit_s + 1e3 / self.rate_hz + frame_ms)


def cases(
    worlds: Sequence[str], links: Sequence[str], rates_hz: Sequence[int] = RATES_HZ, is_screen_wanted: bool = True
) -> list[Case]:
    """All cases in the order of measurement. If all rates are asked for, those that a world or a way does not need are
    left out. With the screen, `metronome` is measured by the page's log and by the screen."""
    all_rates = tuple(rates_hz) == RATES_HZ
    return [
        Case(world, rate_hz, name, is_screen_wanted and world == "metronome")
        for name in links
        for world in worlds
        for rate_hz in rates_hz
        if not all_rates or (rate_hz in LINKS[name].rates_hz and (world != BALLS or rate_hz in BALLS_RATES_HZ))
    ]

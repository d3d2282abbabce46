"""Table of the credit on simulated links, as docs/wire.md has it: `python -m tests.relay.stream.credit_table`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

from tests.relay.stream.link_model import MS, CreditLike, Link, Outcome, S, simulate
from twixt.relay.stream.credit import Credit


def mbit(*steps: float) -> Callable[[int], float]:
    """Bandwidth in bytes per second that changes every 10 s. steps: in Mbit/s."""
    return lambda now_ns: steps[min(now_ns // (10 * S), len(steps) - 1)] * 125e3


class ConstantCredit(Credit):
    """Credit with a window that never changes."""

    def __init__(self, window: int) -> None:
        super().__init__()
        self.window = window

    def _end_round(self, time_ns: float, now_ns: int) -> None: ...


WIFI = Link(delay_ns=20 * MS, jitter_ns=15 * MS, bandwidth=mbit(50))
FAR = Link(jitter_ns=20 * MS)
FULL = Link(size_bytes=64_000, bandwidth=mbit(20))

# Links that carry every snapshot. 20 KB at 60 Hz if nothing else is said.
OPEN_LINKS = {
    "loopback": Link(delay_ns=MS // 5),
    "20 +- 15 ms, 50 Mbit/s": WIFI,
    "80 +- 20 ms": FAR,
    "80 +- 20 ms, 20 Hz": replace(FAR, rate_hz=20),
    "80 +- 20 ms, 5 Hz": replace(FAR, rate_hz=5),
    "80 +- 20 ms, 20 Mbit/s, 36 KB (86 % full)": replace(FAR, size_bytes=36_000, bandwidth=mbit(20)),
    "20 ms, page draws at 10 fps": Link(delay_ns=20 * MS, frame_ns=100 * MS),
}
# Links of 20 Mbit/s if nothing else is said, and 64 KB at 60 Hz: 31 Mbit/s.
FULL_LINKS = {
    "1 ms": replace(FULL, delay_ns=1 * MS),
    "10 ms": replace(FULL, delay_ns=10 * MS),
    "80 ms": FULL,
    "80 +- 20 ms": replace(FULL, jitter_ns=20 * MS),
    "80 +- 20 ms, 160 KB at 20 Hz": replace(FULL, jitter_ns=20 * MS, rate_hz=20, size_bytes=160_000),
    "10 ms, 1 Mbit/s": replace(FULL, delay_ns=10 * MS, bandwidth=mbit(1)),
    "20 ms, 100, 20, 100 Mbit/s": replace(FULL, delay_ns=20 * MS, bandwidth=mbit(100, 20, 100)),
}
# TCP itself limits these.
LOSSY_LINKS = {
    "20 ms, 0.1 % lost": Link(delay_ns=20 * MS, loss=0.001),
    "80 ms, 0.1 % lost": Link(loss=0.001),
    "20 ms, 5 % lost, 1.4 KB": Link(delay_ns=20 * MS, loss=0.05, size_bytes=1_400),
    "20 ms, 5 % lost": Link(delay_ns=20 * MS, loss=0.05),
    "80 ms, 5 % lost": Link(loss=0.05),
}


@cache
def outcome(link: Link, make_credit: Callable[[], CreditLike] = Credit) -> Outcome:
    return simulate(make_credit(), link)


def two() -> CreditLike:
    return ConstantCredit(2)


def unlimited() -> CreditLike:
    return ConstantCredit(10_000)


def at(ordered: list[float], share: float) -> float:
    """Quantile of sorted values."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def row(name: str, link: Link) -> str:
    """A row of the table."""
    ours, of_two, of_all = (outcome(link, make) for make in (Credit, two, unlimited))
    ages, windows = ours.ages_ms(), ours.window_range()
    loss = link.loss or link.bandwidth(0) > link.bandwidth(10 * S)
    cells = (
        name,
        f"{100 * ours.share():.1f} %",
        f"{at(ages, 0.5):.0f} / {at(ages, 0.99):.0f}",
        "-" if loss else f"{ours.target_age_ms(link.bandwidth(0)):.0f}",
        f"{at(windows, 0.5):.0f}, {windows[-1]}",
        f"{100 * of_two.share():.1f} %, {at(of_two.ages_ms(), 0.99):.0f}",
        f"{100 * of_all.share():.1f} %, {at(of_all.ages_ms() or [link.seconds * 1e3], 0.99):,.0f}",
    )
    return f"| {' | '.join(cells)} |"


def table() -> str:
    """The table in Markdown."""
    head = (
        "| link | snapshots sent | age at arrival, p50 / p99 | target | window, p50, max | 2: sent, age p99 | no limit |\n"
        "|---|---|---|---|---|---|---|"
    )
    lines = [head]
    for title, links in (("not full", OPEN_LINKS), ("full", FULL_LINKS), ("loss", LOSSY_LINKS)):
        lines.append(f"| **{title}** | | | | | | |")
        lines += [row(name, link) for name, link in links.items()]
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())

"""Many kill orders: `python -m tests.long.endings --orders 1000`, or `make kill-orders`.

Prints the seed, what was wrong with which order, the endings by kind and the longest clean-up; exits with 1 where
anything was wrong. Some may run beside each other (`--jobs`), which makes each clean-up longer.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.displays.rigs import xvfb
from tests.long.endings.machine import KillOrder, Tally

ACTS = 5  # in each order, beside its start and its end


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], prog="python -m tests.long.endings")
    parser.add_argument("--orders", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--jobs", type=int, default=1, help="so many beside each other")
    parser.add_argument("--part", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    # A shell that starts this in the background has Ctrl-C ignored, and so would all that is started here.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if asked.part:
        print(json.dumps(_part(asked.orders, asked.seed)), flush=True)
        return 0
    return _all(asked.orders, asked.seed, asked.jobs)


def _all(orders: int, number: int, jobs: int) -> int:
    print(f"{orders} kill orders, seed {number}, {jobs} at a time", flush=True)
    began_s = time.monotonic()
    counts = [orders // jobs + (job < orders % jobs) for job in range(jobs)]
    parts = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.long.endings", "--part", "--orders", str(count), "--seed", str(number + job)],
            stdout=subprocess.PIPE, text=True,
        )
        for job, count in enumerate(counts)
    ]  # fmt: skip
    try:
        tallies = [json.loads(part.communicate()[0].splitlines()[-1]) for part in parts]
    finally:
        for part in parts:
            if part.poll() is None:
                part.send_signal(signal.SIGINT)
    return _report(tallies, time.monotonic() - began_s)


def _part(orders: int, number: int) -> dict[str, object]:
    """So many orders, one after the other; what came of them."""
    with xvfb() as display:
        tally = Tally(display.environ, is_strict=False, say=lambda text: print(text, file=sys.stderr, flush=True))
        how = settings(
            max_examples=orders, stateful_step_count=ACTS, deadline=None, database=None, phases=[Phase.generate],
            suppress_health_check=list(HealthCheck), derandomize=False,
        )  # fmt: skip
        run_state_machine_as_test(seed(number)(lambda: KillOrder(tally)), settings=how)
    return {
        "orders": tally.orders, "wrong": tally.wrong, "endings": tally.endings,
        "longest_s": tally.longest_clean_up_s, "slowest": tally.slowest,
    }  # fmt: skip


def _report(tallies: list[dict], took_s: float) -> int:
    wrong = [story for tally in tallies for story in tally["wrong"]]
    endings = sum((Counter(tally["endings"]) for tally in tallies), Counter())
    slowest = max(tallies, key=lambda tally: tally["longest_s"])
    for what, count in sorted(endings.items()):
        print(f"{count:7}  {what}")
    print(f"{sum(tally['orders'] for tally in tallies):7}  orders in {took_s / 60:.1f} minutes, {len(wrong)} wrong")
    print(f"longest clean-up {slowest['longest_s']:.2f} s, of:\n{slowest['slowest']}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

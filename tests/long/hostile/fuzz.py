"""Mutated inputs, as many as are wanted, into everything that reads what another wrote: `make fuzz`.

Each target runs in a process of its own, under a limit of memory, with a clock on every input: a crash is seen as a
signal, a hang as an alarm with all threads' places, anything raised that is no TwixtError with its input. The seed is
printed; `--seed` makes the same inputs again.

    python -m tests.long.hostile.fuzz [TARGET ...] [--count 100000] [--seed N]
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import resource
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from tests.long.hostile.mutate import Mutator

ROOT = Path(__file__).resolve().parents[3]
# An input that takes longer is a hang. The machine may be busy.
INPUT_PATIENCE_S = 60.0
# Beyond what the process has mapped once it is ready: asking for more is a MemoryError, which is a failure.
MEMORY_LIMIT_BYTES = 3 << 29
# Inputs before memory is looked at for the first time: imports, caches.
WARM = 200
SHOWN_FAILURES = 8


def run(name: str, count: int, seed: int) -> dict[str, Any]:
    """One target in a child process; its figures. `failures` counts what was not a clean answer, a crash included.

    count: of inputs, fewer where one takes long.
    """
    from tests.long.hostile.targets import SLOW

    count = -(-count // SLOW.get(name, 1))
    command = [sys.executable, "-P", "-X", "faulthandler", "-m", "tests.long.hostile.fuzz", "--child", name]
    # Without BLAS threads: each would reserve address space, of which the child gets little.
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    child = subprocess.run(
        [*command, "--count", str(count), "--seed", str(seed)], cwd=ROOT, env=environ, capture_output=True, text=True
    )
    last = child.stdout.strip().rpartition("\n")[2]
    try:
        figures: dict[str, Any] = json.loads(last)
    except ValueError:
        figures = {"inputs": 0, "failures": 1}
    return {**figures, "exit_code": child.returncode, "said": child.stderr}


def child(name: str, count: int, seed: int) -> int:
    """Feeds the target, in this process; prints its figures as the last line."""
    from tests.long.hostile.targets import TARGETS
    from twixt.ipc.errors import TwixtError

    faulthandler.register(signal.SIGALRM, all_threads=True, chain=True)
    mutator = Mutator(seed)
    with TARGETS[name](mutator) as target:
        _limit_memory()
        refused, slowest_s, failures = 0, 0.0, {}
        warm_kib = peak_kib()
        for number in range(count):
            signal.setitimer(signal.ITIMER_REAL, INPUT_PATIENCE_S)
            began_s = time.perf_counter()
            try:
                target.feed()
            except TwixtError:
                refused += 1
            except BaseException as error:
                place = traceback.extract_tb(error.__traceback__)[-1]
                key = f"{type(error).__name__} at {place.filename}:{place.lineno}"
                if key not in failures and len(failures) < SHOWN_FAILURES:
                    print(f"input {number} of seed {seed}: {target.told()}", file=sys.stderr)
                    traceback.print_exc()
                failures[key] = failures.get(key, 0) + 1
            slowest_s = max(slowest_s, time.perf_counter() - began_s)
            if number == WARM:
                warm_kib = peak_kib()
        signal.setitimer(signal.ITIMER_REAL, 0)
    figures = {
        "inputs": count, "refused": refused, "failures": sum(failures.values()),
        "grown_mib": round((peak_kib() - warm_kib) / 1024, 1), "slowest_ms": round(slowest_s * 1e3, 1),
    }  # fmt: skip
    print(json.dumps(figures))
    return 1 if failures else 0


def peak_kib() -> int:
    """The most memory that this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _limit_memory() -> None:
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + MEMORY_LIMIT_BYTES,) * 2)


def main(arguments: list[str] | None = None) -> int:
    """All targets, or those that are named."""
    from tests.long.hostile.targets import TARGETS

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of: {', '.join(TARGETS)}; all by default")
    parser.add_argument("--count", type=int, default=int(os.environ.get("FUZZ", 100_000)), help="inputs for each")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000, help="of all mutations")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    wanted = parser.parse_args(arguments)
    if wanted.child:
        return child(wanted.targets[0], wanted.count, wanted.seed)
    print(f"seed {wanted.seed}, {wanted.count} inputs for each target")
    failed = 0
    for name in wanted.targets or TARGETS:
        began_s = time.perf_counter()
        figures = run(name, wanted.count, wanted.seed)
        said, code = figures.pop("said"), figures.pop("exit_code")
        failed += bool(code or figures["failures"])
        told = ", ".join(f"{key} {value}" for key, value in figures.items())
        print(f"{name:12} {told}, exit code {code}, {time.perf_counter() - began_s:.0f} s", flush=True)
        if code:
            print(said, file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

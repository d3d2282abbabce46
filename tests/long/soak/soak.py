"""An hour of everything at once: `python -m tests.long.soak.soak`, or `make soak`; SOAK_S says how many seconds.

One simulation and one viewer live through it. Physics stalls, grows and changes its scene; other viewers attach,
leave, are killed and stopped; other simulations grow and are killed beside them. Every few seconds the two are looked
at. Prints the first window beside the last (`flatness`), and exits with 1 where something grew.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.displays.rigs import Display, xvfb
from tests.end_to_end.processes import FRONT_DOOR, Run, Starter, memories, pause, starter, until
from tests.long.soak import flatness
from tests.long.soak.flatness import Finding, Sample
from twixt.render.measure.frame_log import KEPT_FRAMES, read_log
from twixt.render.measure.frame_rows import PACKED
from twixt.sim.publish.publisher import KEPT_SAMPLES

HERE = Path(__file__).parent
NAME = "soak"
LASTS_S = 3600.0
# One visit begins in each such stretch, s; most last half of it.
VISIT_S = 2.5
STALLS = "300@10"
# Doublings of the world from its first size to its last, spread over the soak.
GROWTHS = 7
# A guest's traces are given that many looks of 10 ms to go before the sample is taken as it is.
LOOKS = 100
# What a process holds: files that are mapped come and go as the system likes, and it may swap out what rests.
HELD = ("RssAnon", "RssShmem", "VmSwap")
# Figures of a step that physics keeps for its report, 8 bytes each.
FIGURES = 4


class Soak:
    """The two long-lived processes, their visitors, and what was seen of the two."""

    def __init__(self, start: Starter, lasts_s: float, seed: int) -> None:
        self.physics: list[Sample] = []
        self.viewer: list[Sample] = []
        self.visits: dict[str, int] = {}
        self._start, self._lasts_s, self._random = start, lasts_s, random.Random(seed)
        for module in (HERE / "soaking.py", HERE.parent / "endings" / "growing.py"):
            (start.folder / module.name).write_text(module.read_text())
        grows = f"grow_s={lasts_s / (GROWTHS + 1)}"
        self.sim = start(
            "sim", "soaking:Soaking", "--name", NAME, "--set", grows, "--stall", STALLS, "--seed", str(seed)
        )
        until(lambda: list(start.runtime_folder.rglob("*.socket")), "the simulation is there")
        self.view = start("view", NAME, "--size", "160x120", "--log", "frames.csv")
        until(lambda: memories({self.view.process.pid}) or self.sim.process.poll(), "the viewer attaches")
        assert self.sim.process.poll() is None, self.sim.err
        self.began_ns = time.perf_counter_ns()
        self._least = {self.sim: 1 << 30, self.view: 1 << 30}

    @property
    def now_s(self) -> float:
        return (time.perf_counter_ns() - self.began_ns) / 1e9

    def run(self, say: Callable[[str], object]) -> None:
        """Visits, one after the other, until the time is over."""
        kinds = [self._reads, self._is_killed, self._is_stopped, self._is_ended_early, self._looks, self._grows_beside]
        while self.now_s < self._lasts_s:
            next_s = self.now_s + VISIT_S
            kind = self._random.choices(kinds, (3, 3, 3, 3, 1, 2))[0]
            kind()
            name = kind.__name__.strip("_").replace("_", " ")
            self.visits[name] = self.visits.get(name, 0) + 1
            self._sample()
            assert self.sim.process.poll() is None, f"the simulation ended: {self.sim.err}"
            assert self.view.process.poll() is None, f"the viewer ended: {self.view.err}"
            say(f"{self.now_s:5.0f} s  physics {_said(self.physics[-1])}  viewer {_said(self.viewer[-1])}")
            while self.now_s < min(next_s, self._lasts_s):
                pause()

    def end(self) -> np.ndarray:
        """Both end; the instants of the viewer's frames, s since the soak began."""
        self.view.process.send_signal(signal.SIGINT)
        assert self.view.end() == 130, self.view.err
        self.sim.process.send_signal(signal.SIGINT)
        assert self.sim.end() == 130, self.sim.err
        left = [command for run in self._start.runs for command in run.pids().values()]
        assert not left, f"left after the soak: {left}"
        rows = read_log(self._start.folder / "frames.csv")
        return (rows["present_ns"][~rows["probe"]] - self.began_ns) / 1e9

    # -- visits

    def _reads(self) -> None:
        guest = self._guest()
        guest.hear("tick")
        guest.process.send_signal(signal.SIGUSR1)
        guest.end()

    def _is_killed(self) -> None:
        guest = self._guest()
        guest.hear("attached")
        guest.process.kill()
        guest.end()

    def _is_stopped(self) -> None:
        guest = self._guest()
        guest.hear("tick")
        guest.process.send_signal(signal.SIGSTOP)
        self._wait(VISIT_S / 2)
        if self._random.random() < 0.5:
            guest.process.send_signal(signal.SIGCONT)
            guest.process.send_signal(signal.SIGUSR1)
        else:
            guest.process.kill()
        guest.end()

    def _is_ended_early(self) -> None:
        guest = self._guest()
        self._wait(self._random.uniform(0, 0.3))
        guest.process.send_signal(self._random.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT]))
        guest.end()

    def _looks(self) -> None:
        guest = self._start("view", NAME, "--size", "64x48", "--offscreen")
        until(lambda: memories({guest.process.pid}), "a real viewer attaches")
        guest.process.send_signal(self._random.choice([signal.SIGKILL, signal.SIGINT]))
        guest.end()

    def _grows_beside(self) -> None:
        other = self._start("sim", "growing:Growing", "--name", "other")
        until(lambda: memories({other.process.pid}), "the other simulation is there")
        guest = self._guest("other")
        guest.hear("tick")
        self._wait(self._random.uniform(0, 0.5))
        other.process.kill()
        other.end()
        guest.end()

    def _guest(self, name: str = NAME) -> Run:
        program = str(HERE.parent / "endings" / "light_viewer.py")
        return self._start.start([sys.executable, "-P", program, name], PYTHONPATH=str(Path(FRONT_DOOR).parent))

    def _wait(self, seconds: float) -> None:
        end_s = self.now_s + seconds
        while self.now_s < end_s:
            pause()

    # -- looks

    def _sample(self) -> None:
        for _ in range(LOOKS):
            if all(_descriptors(run) <= least for run, least in self._least.items()):
                break
            pause()
        at_s = self.now_s
        for run, samples in ((self.sim, self.physics), (self.view, self.viewer)):
            self._least[run] = min(self._least[run], _descriptors(run))
            samples.append(_sample_of(run, at_s, self._kept_bytes(run, at_s)))
        self._start.runs[:] = [run for run in self._start.runs if run.process.poll() is None]

    def _kept_bytes(self, run: Run, at_s: float) -> int:
        made = at_s * 60
        if run is self.sim:
            return round(min(made, KEPT_SAMPLES) * 8 * FIGURES)
        return round(min(made, KEPT_FRAMES) * PACKED.itemsize)


def _descriptors(run: Run) -> int:
    return len(os.listdir(f"/proc/{run.process.pid}/fd"))


def _sample_of(run: Run, at_s: float, kept_bytes: int) -> Sample:
    lines = Path(f"/proc/{run.process.pid}/status").read_text().splitlines()
    status = dict(line.split(":", 1) for line in lines if ":" in line)
    held = sum(int(status[part].split()[0]) for part in HELD) * 1024
    return Sample(at_s, held, _descriptors(run), int(status["Threads"]), kept_bytes)


def _said(sample: Sample) -> str:
    return f"{sample.held_bytes / flatness.MIB:6.1f} MiB {sample.descriptors:3} fds {sample.threads:2} threads"


def soak(display: Display, folder: Path, lasts_s: float, seed: int, say: Callable[[str], object]) -> tuple[Soak, list]:
    """A soak of so many seconds, and what was found."""
    with starter(folder, display.environ) as start:
        made = Soak(start, lasts_s, seed)
        made.run(say)
        present_s = made.end()
    found = flatness.findings_of("physics", made.physics, lasts_s) + flatness.findings_of(
        "viewer", made.viewer, lasts_s
    )
    return made, [*found, flatness.pace_of(present_s, lasts_s), present_s]


def table(made: Soak, findings: list[Finding], lasts_s: float) -> str:
    """For people."""
    first, last = flatness.windows(lasts_s)
    lines = [
        f"first: {first.begin_s:.0f} to {first.end_s:.0f} s, last: {last.begin_s:.0f} to {lasts_s:.0f} s; "
        f"{sum(made.visits.values())} visits: " + ", ".join(f"{k} {v}" for k, v in sorted(made.visits.items())),
        f"{'':28}{'first':>10}{'last':>10}{'grown':>10}{'allowed':>10}",
    ]
    for one in findings:
        verdict = "flat" if one.is_flat else "GROWS"
        lines.append(f"{one.what:28}{one.first:10.2f}{one.last:10.2f}{one.grown:10.2f}{one.allowed:10.2f}  {verdict}")
    for name, samples in (("physics", made.physics), ("viewer", made.viewer)):
        slope = flatness.slope_mib_per_h(samples, lasts_s)
        lines.append(f"{name}: {slope:+.1f} MiB an hour, without the figures kept for its report")
    return "\n".join(lines)


def plot(made: Soak, present_s: np.ndarray, path: str) -> None:
    """Memory and the p99 of frame intervals over time."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (memory, pace) = pyplot.subplots(2, 1, figsize=(9, 6), sharex=True, layout="constrained")
    for name, samples in (("physics", made.physics), ("viewer", made.viewer)):
        at_min = [sample.at_s / 60 for sample in samples]
        memory.plot(at_min, [sample.held_bytes / flatness.MIB for sample in samples], label=name)
        own = [(sample.held_bytes - sample.kept_bytes) / flatness.MIB for sample in samples]
        memory.plot(at_min, own, ":", color=memory.lines[-1].get_color(), label=f"{name}, without figures kept")
    memory.set_ylabel("memory held, MiB")
    memory.set_ylim(bottom=0)
    memory.legend()
    at_s, p99_ms = flatness.p99_by_bin(present_s, max(5.0, present_s[-1] / 60))
    pace.plot(at_s / 60, p99_ms, "o-")
    pace.set_ylabel("frame interval p99, ms")
    pace.set_ylim(bottom=0)
    pace.set_xlabel("minutes")
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.long.soak.soak", description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=float(os.environ.get("SOAK_S") or LASTS_S))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plot", default="build/soak.png", help="picture of memory and frame intervals (PNG)")
    asked = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    print(f"a soak of {asked.seconds:g} s, seed {asked.seed}, {os.cpu_count()} cores", flush=True)
    with xvfb() as display, tempfile.TemporaryDirectory(prefix="soak-", dir="/tmp") as folder:
        made, found = soak(display, Path(folder), asked.seconds, asked.seed, lambda line: print(line, flush=True))
    *findings, present_s = found
    print(table(made, findings, asked.seconds))
    plot(made, present_s, asked.plot)
    print(f"picture in {asked.plot}")
    return 0 if all(one.is_flat for one in findings) else 1


if __name__ == "__main__":
    sys.exit(main())

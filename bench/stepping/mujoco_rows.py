"""Rows of `python -m bench mujoco`: how much a viewer slows a loop down, and the cost of a call of `sync`.

For each viewer a separate process steps the same model (`viewed_loop`). The processes take turns; while one runs, the
others and their viewers are stopped. A watched turn is compared with the turns right before and after it, which have
no viewer, so that drift cancels out. Viewers use the display of the environment; without one, twixt draws offscreen.

Always: all processes end with the measurement. The row of a viewer that cannot run tells the reason.
"""

from __future__ import annotations

import os
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import NamedTuple

from bench.load import free_cores
from bench.loop_process import LoopProcess, LoopTimes, model_loop
from bench.rows import Row
from bench.slowdown import slowdown, step_us
from bench.stepping.model_viewers import PASSIVE, PEERS, TWIXT
from twixt.cli.cpu_time import usable_cores
from twixt.cli.progress import Say
from twixt.ipc.errors import TwixtError
from twixt.sim.engines.mujoco.mujoco_package import required

HEAD = """<mujoco>
  <option timestep="0.003" integrator="{integrator}"/>
  <size memory="{memory}"/>
  <default>
    <geom type="capsule" rgba="0.8 0.6 0.4 1" condim="3" friction="0.7 0.1 0.1"/>
    <joint type="hinge" damping="5" stiffness="10" armature="0.01" limited="true" range="-60 60"/>
  </default>
  <worldbody>
    <light pos="0 0 10" dir="0 0 -1"/>
    <geom type="plane" size="40 40 1" rgba="0.6 0.7 0.6 1"/>
{bodies}
  </worldbody>
</mujoco>
"""
# Distance between humanoids, and between spheres, metres. The spheres have a radius of 0.1 m, so they never touch.
STRIDE_M, GRID_M = 3.0, 0.5
LOOP_ROWS, SYNC_ROWS = "loops", "sync"
# For the slowdown: number of pairs of turns in a whole run, and length of a turn. For the cost of `sync`: number of
# turns, and of calls in a turn.
PAIRS, SYNC_TURNS = 40, 20
TURN_S, SYNC_CALLS = 1.0, 200
# Time in which a viewer loads its overlay and compiles its programs, s.
SETTLING_S = 3.0
# States published per second: so few that practically no `sync` publishes, and so many that every `sync` does.
NO_STATE_HZ, ALL_STATES_HZ = 0.1, 1e6
GATED_BAR_US = 3.0


def humanoids_xml(count: int = 1) -> str:
    """Model of humanoids side by side. A humanoid takes as long to step as gymnasium's; the integrator is the same."""
    return _model("".join(_humanoid(STRIDE_M * number) for number in range(count)), integrator="RK4")


def spheres_xml(count: int) -> str:
    """Model of free spheres on a grid, far from each other and from the ground."""
    return _model("".join(f'<body pos="{place}"><freejoint/><geom type="sphere" size="0.1"/></body>\n'
                          for place in _grid(count)), memory="500M")  # fmt: skip


def mocap_xml(count: int) -> str:
    """Model of mocap bodies on a grid."""
    return _model("".join(f'<body mocap="true" pos="{place}"><geom type="sphere" size="0.1" contype="0" '
                          'conaffinity="0"/></body>\n' for place in _grid(count)), memory="1G")  # fmt: skip


def _model(bodies: str, memory: str = "100M", integrator: str = "Euler") -> str:
    return HEAD.format(bodies=bodies, memory=memory, integrator=integrator)


def _grid(count: int) -> Iterator[str]:
    side = 1
    while side**3 < count:
        side += 1
    for number in range(count):
        x, y, z = number % side, number // side % side, number // side**2
        yield f"{x * GRID_M:g} {y * GRID_M:g} {z * GRID_M + 20:g}"


def _humanoid(y: float) -> str:
    limbs = "".join(_leg(side) + _arm(side) for side in (-1, 1))
    return f"""
<body pos="0 {y:g} 1.4"><freejoint/>
  <geom fromto="0 -.07 0 0 .07 0" size=".07"/><geom type="sphere" pos="0 0 .19" size=".09"/>
  <geom fromto="-.01 -.06 -.12 -.01 .06 -.12" size=".06"/>
  <body pos="-.01 0 -.26">{_hinges("0 0 1", "0 1 0")}
    <geom fromto="0 -.06 0 0 .06 0" size=".06"/>
    <body pos="0 0 -.165">{_hinges("1 0 0")}<geom fromto="-.02 -.07 0 -.02 .07 0" size=".09"/></body>
  </body>{limbs}
</body>"""


def _leg(side: int) -> str:
    return f"""
  <body pos="0 {0.1 * side:g} -.46">{_hinges("1 0 0", "0 0 1", "0 1 0")}
    <geom fromto="0 0 0 0 0 -.34" size=".06"/>
    <body pos="0 0 -.403">{_hinges("0 1 0")}<geom fromto="0 0 0 0 0 -.3" size=".049"/>
      <body pos="0 0 -.39">{_hinges("0 1 0")}<geom fromto="-.07 0 0 .14 0 0" size=".027"/></body>
    </body>
  </body>"""


def _arm(side: int) -> str:
    return f"""
  <body pos="0 {0.17 * side:g} .06">{_hinges("2 1 1", "0 -1 1")}
    <geom fromto="0 0 0 .16 {0.16 * side:g} -.16" size=".04"/>
    <body pos=".18 {0.18 * side:g} -.18">{_hinges("0 -1 1")}
      <geom fromto="0 0 0 .17 {-0.17 * side:g} .17" size=".031"/>
    </body>
  </body>"""


def _hinges(*axes: str) -> str:
    return "".join(f'<joint axis="{axis}"/>' for axis in axes)


class StepOptions(NamedTuple):
    """Options of the benchmark. model: path of the model to step instead of a humanoid; "" for a humanoid. only:
    LOOP_ROWS, SYNC_ROWS, or None for both. peers: viewers to compare with twixt. pairs: number of pairs of turns; None
    for that of `Effort`. is_large: also measure `sync` of 10,000 bodies."""

    model: str = ""
    only: str | None = None
    peers: tuple[str, ...] = PEERS
    pairs: int | None = None
    is_large: bool = False


class Effort(NamedTuple):
    """Length of a measurement. pairs, turn_s: number of pairs of turns, and duration of a turn. settling_s: time
    before the first turn. sync_turns, sync_calls: number of turns for the cost of `sync`, and of calls in each."""

    pairs: int = PAIRS
    turn_s: float = TURN_S
    settling_s: float = SETTLING_S
    sync_turns: int = SYNC_TURNS
    sync_calls: int = SYNC_CALLS


WHOLE, QUICK = Effort(), Effort(2, 0.1, 0.2, 2, 20)


class EngineLoop(NamedTuple):
    """A loop that is measured with viewers. model: path of a model file, or a model as XML text. bar: limit of the
    ratio of the time of a step with twixt's viewer to that without a viewer."""

    name: str
    model: str
    sync_hz: float | None
    bar: float


class SyncCase(NamedTuple):
    """A model for which `sync` is measured. text: the model as XML. bar_us: limit of the median time of a `sync` that
    publishes, us."""

    name: str
    text: str
    bar_us: float


def mujoco_rows(share: float, say: Say, options: StepOptions) -> Iterator[Row]:
    """Rows of loops, then of `sync`. share: if below 1, few rows and few turns. Raises TwixtError without MuJoCo."""
    required()
    if options.model and not os.path.isfile(options.model):
        raise TwixtError(f"no file {options.model!r}; give the path of a MuJoCo model, such as humanoid.xml")
    effort = WHOLE if share >= 1 else QUICK
    effort = effort._replace(pairs=options.pairs or effort.pairs)
    with tempfile.TemporaryDirectory() as folder:
        if options.only != SYNC_ROWS:
            for case in _loops(options.model)[: 1 if share < 1 else None]:
                yield from _loop_rows(case, _file(folder, case.model), options.peers, effort, say)
        if options.only != LOOP_ROWS:
            for sync in _sync_cases(options.is_large, share):
                say(f"sync, {sync.name}")
                yield from _sync_rows(sync, _file(folder, sync.text), effort)


def _loops(model: str) -> list[EngineLoop]:
    """Two loops of a humanoid, or of the model in the file `model`; then a loop whose steps take at least 0.5 ms."""
    name, one = (os.path.basename(model), model) if model else ("humanoid", humanoids_xml())
    return [
        EngineLoop(f"{name}, sync after every step", one, None, 1.05),
        EngineLoop(f"{name}, sync 60 times a second", one, 60.0, 1.02),
        EngineLoop("6 humanoids, sync after every step", humanoids_xml(6), None, 1.02),
    ]


def _sync_cases(is_large: bool, share: float) -> Iterator[SyncCase]:
    yield SyncCase("humanoid", humanoids_xml(), 45.0)
    if share >= 1:
        yield SyncCase("1,000 free spheres", spheres_xml(1000), 75.0)
    if is_large:
        yield SyncCase("10,000 mocap bodies", mocap_xml(10_000), 400.0)


def _file(folder: str, model: str) -> str:
    if not model.startswith("<"):
        return model
    with open(os.path.join(folder, "model.xml"), "w", encoding="utf-8") as file:
        file.write(model)
    return file.name


def _loop_rows(case: EngineLoop, path: str, peers: tuple[str, ...], effort: Effort, say: Say) -> Iterator[Row]:
    with ExitStack() as stack:
        hz = [] if case.sync_hz is None else ["--sync-hz", str(case.sync_hz)]
        loops: dict[str, LoopProcess] = {}
        for name in (TWIXT, *peers):
            say(f"{case.name}: {name} begins")
            loops[name] = stack.enter_context(model_loop(name, path, effort.settling_s, *hz))
        _require(loops[TWIXT])
        free = [_free_cores()]
        turns = _measured_turns(case, loops, effort, say)
        free.append(_free_cores())
        for name, loop in loops.items():
            yield _loop_row(case, name, turns[name], loop.failure, free)


def _measured_turns(
    case: EngineLoop, loops: dict[str, LoopProcess], effort: Effort, say: Say
) -> dict[str, list[LoopTimes]]:
    """Turns for each viewer, in groups of three: without a viewer, with the viewer, without a viewer. If a viewer
    other than twixt's fails, the others continue."""
    turns: dict[str, list[LoopTimes]] = {name: [] for name in loops}
    ours = loops[TWIXT]
    before = ours.turn(False, effort.turn_s)
    for number in range(effort.pairs):
        say(f"{case.name}: pair {number + 1} of {effort.pairs}")
        for name, loop in loops.items():
            if loop.failure:
                continue
            with suppress(TwixtError):
                watched = loop.turn(True, effort.turn_s)
            _require(ours)
            if not loop.failure:
                after = ours.turn(False, effort.turn_s)
                turns[name] += [before, watched, after]
                before = after
    return turns


def _require(loop: LoopProcess) -> None:
    if loop.failure:
        raise TwixtError(f"twixt's viewer: {loop.failure}")


def _free_cores() -> str:
    free = free_cores()
    return "unknown" if free is None else f"{free:.1f}"


def _loop_row(case: EngineLoop, viewer: str, turns: list[LoopTimes], failure: str, free: list[str]) -> Row:
    name = f"step, {case.name}: {viewer}"
    found, of_cpu = slowdown([turn.wall for turn in turns]), slowdown([turn.cpu for turn in turns])
    if failure or found is None or of_cpu is None:
        return Row(name, "us", None, "no viewer", None, 0, f"not measured: {failure}")
    note = (
        f"slower by {found.median:+.1f} % (95 % of medians: {found.low:+.1f} to {found.high:+.1f}); "
        f"by the processor time of the loop's own thread {of_cpu.median:+.1f} % ({of_cpu.low:+.1f} to {of_cpu.high:+.1f})"
        + (f"; free cores: {', later '.join(free)} of {usable_cores()}" if viewer == TWIXT else "")
    )
    alone_us = step_us([turn.wall for turn in turns], False) or 0.0
    return Row(
        name, "us", alone_us * (1 + found.median / 100), "no viewer", alone_us, found.pairs, note,
        noise=max(0.0, (found.high - found.low) / 4 / 100), bar=f"ratio <= {case.bar:g}" if viewer == TWIXT else "",
    )  # fmt: skip


def _sync_rows(case: SyncCase, path: str, effort: Effort) -> Iterator[Row]:
    with ExitStack() as stack:

        def loop(viewer: str, *options: str) -> LoopProcess:
            return stack.enter_context(model_loop(viewer, path, effort.settling_s, *options))

        loops = {
            "no frame would show": loop(TWIXT, "--publish-hz", str(NO_STATE_HZ)),
            "published": loop(TWIXT, "--publish-hz", str(ALL_STATES_HZ)),
            PASSIVE: loop(PASSIVE),
        }
        times: dict[str, list[float]] = {name: [] for name in loops}
        for _ in range(effort.sync_turns):
            for name, each in loops.items():
                if not each.failure:
                    with suppress(TwixtError):
                        times[name] += each.sync_us(effort.sync_calls)
    theirs = loops[PASSIVE].failure
    limit = None if theirs else statistics.median(times[PASSIVE])
    for name, bar_us in (("no frame would show", GATED_BAR_US), ("published", case.bar_us)):
        _require(loops[name])
        # The limit for a state that is not published is for a humanoid only, because the cost grows with the model: a
        # copy of the state is stored for a later publish.
        bar = "" if name != "published" and case.name != "humanoid" else f"figure <= {bar_us:g}"
        yield Row(
            f"sync, {case.name}, {name}", "us", statistics.median(times[name]), f"sync of {PASSIVE}", limit,
            len(times[name]), f"{PASSIVE} not measured: {theirs}" if theirs else "back to back", bar=bar,
        )  # fmt: skip

"""Measures how much a viewer slows a MuJoCo loop down, and the cost of a call of `sync`: `python -m bench mujoco`.

For each viewer, a separate process steps the same model (see `watched_loop`). The processes take turns. During the
turn of one process, the other processes and their viewers are stopped. A watched turn, in which the viewer runs, is
compared with the turns right before and after it, which have no viewer. Viewers use the display of the environment.
Without a display, twixt draws offscreen.

Always: all processes end with the measurement. The row of a viewer that cannot run tells the reason.
"""

from __future__ import annotations

import os
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any, NamedTuple

from bench import cost_suite
from bench.loops.loop_process import MODEL, LoopProcess, LoopTurn, loop_process, slowdown, step_us
from bench.loops.model_viewers import PASSIVE, PEERS, TWIXT
from bench.pages import Results
from bench.processes import free_cores
from bench.rows import Row, not_measured
from twixt.cli.cpu_time import usable_cores
from twixt.cli.progress import Say
from twixt.cli.turns import run_in_turns
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
# STRIDE_M is the distance between two humanoids, and GRID_M is the distance between the centres of two spheres, in
# metres. The spheres have a radius of 0.1 m, so they never touch.
STRIDE_M, GRID_M = 3.0, 0.5
LOOP_ROWS, SYNC_ROWS = "loops", "sync"
GATED, PUBLISHED = "no frame would show", "published"
# Numbers of states that are published per second. With NO_STATE_HZ, practically no `sync` publishes a state. With
# ALL_STATES_HZ, every `sync` publishes a state.
NO_STATE_HZ, ALL_STATES_HZ = 0.1, 1e6
GATED_TARGET_US = 3.0


def humanoids_xml(count: int = 1) -> str:
    """Model of humanoids side by side, as XML. A step of a humanoid takes as long as a step of gymnasium's humanoid.
    Both use the same integrator."""
    return _model("".join(_humanoid(STRIDE_M * number) for number in range(count)), integrator="RK4")


def spheres_xml(count: int) -> str:
    """Model of free spheres on a grid, as XML. The spheres are far from each other and from the ground."""
    sphere = '<body pos="{}"><freejoint/><geom type="sphere" size="0.1"/></body>\n'
    return _model("".join(map(sphere.format, _grid(count))), memory="500M")


def mocap_xml(count: int) -> str:
    """Model of mocap bodies on a grid, as XML."""
    geom = '<geom type="sphere" size="0.1" contype="0" conaffinity="0"/>'
    return _model("".join(f'<body mocap="true" pos="{at}">{geom}</body>\n' for at in _grid(count)), memory="1G")


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
    """Options of the benchmark. model: path of the model that is stepped instead of a humanoid, or "" for a humanoid.
    only: LOOP_ROWS, SYNC_ROWS, or None for both. peers: viewers that are compared with twixt. pairs: number of
    pairs of turns, or None for the number in `Effort`. is_large: True if `sync` is also measured with 10,000
    bodies."""

    model: str = ""
    only: str | None = None
    peers: tuple[str, ...] = PEERS
    pairs: int | None = None
    is_large: bool = False


class Effort(NamedTuple):
    """Length of a measurement. pairs: number of pairs of turns. turn_s: duration of a turn in seconds. settling_s:
    time in seconds before the first turn. In this time, a viewer loads its overlay and compiles its programs.
    sync_turns: number of turns in which the cost of `sync` is measured. sync_calls: number of calls of `sync` in
    each of these turns."""

    pairs: int = 40
    turn_s: float = 1.0
    settling_s: float = 3.0
    sync_turns: int = 20
    sync_calls: int = 200


WHOLE, QUICK = Effort(), Effort(2, 0.1, 0.2, 2, 20)


class EngineLoop(NamedTuple):
    """A loop that is measured with viewers. model: path of a model file, or a model as XML text. target: limit of the
    ratio between the durations of a step with twixt's viewer and without a viewer."""

    name: str
    model: str
    sync_hz: float | None
    target: float


def run(results: Results, model: str, only: str | None, peers: tuple[str, ...], pairs: int | None, is_large: bool,
        **wanted: Any) -> int:  # fmt: skip
    """Measures the loops and `sync`, and returns the exit code. wanted: values of `cost_suite.SuiteOptions`."""
    options = StepOptions(model, only, peers or PEERS, pairs, is_large)
    groups = {"mujoco": partial(mujoco_rows, options=options)}
    return cost_suite.run(groups, results, cost_suite.SuiteOptions(**wanted, is_logged=True))


def mujoco_rows(share: float, say: Say, options: StepOptions) -> Iterator[Row]:
    """Rows of loops, then rows of `sync`. share: share of a whole run's rounds. If it is below 1, there are few rows
    and few turns. Raises TwixtError without MuJoCo."""
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
            for name, (xml, target_us) in _sync_cases(options.is_large, share).items():
                say(f"sync, {name}")
                yield from _sync_rows(name, _file(folder, xml), target_us, effort)


def _loops(model: str) -> list[EngineLoop]:
    """Loops that are measured. These are two loops of a humanoid, or of the model in the file `model`. The third is a
    loop whose steps take at least 0.5 ms."""
    name, one = (os.path.basename(model), model) if model else ("humanoid", humanoids_xml())
    return [
        EngineLoop(f"{name}, sync after every step", one, None, 1.05),
        EngineLoop(f"{name}, sync 60 times a second", one, 60.0, 1.02),
        EngineLoop("6 humanoids, sync after every step", humanoids_xml(6), None, 1.02),
    ]


def _sync_cases(is_large: bool, share: float) -> dict[str, tuple[str, float]]:
    """For each model whose `sync` is measured, its XML text, and the limit of the median duration of a `sync` that
    publishes, in us."""
    cases = {"humanoid": (humanoids_xml(), 45.0)}
    if share >= 1:
        cases["1,000 free spheres"] = spheres_xml(1000), 75.0
    if is_large:
        cases["10,000 mocap bodies"] = mocap_xml(10_000), 400.0
    return cases


def _file(folder: str, model: str) -> str:
    if not model.startswith("<"):
        return model
    with open(os.path.join(folder, "model.xml"), "w", encoding="utf-8") as file:
        file.write(model)
    return file.name


def _loop_rows(case: EngineLoop, path: str, peers: tuple[str, ...], effort: Effort, say: Say) -> Iterator[Row]:
    with ExitStack() as stack:
        loops: dict[str, LoopProcess] = {}
        for name in (TWIXT, *peers):
            say(f"{case.name}: {name} begins")
            loops[name] = stack.enter_context(
                loop_process(MODEL, effort.settling_s, viewer=name, model=path, sync_hz=case.sync_hz)
            )
        _require(loops[TWIXT])
        free = [_free_cores()]
        turns = _measured_turns(case, loops, effort, say)
        free.append(_free_cores())
        for name, loop in loops.items():
            yield _loop_row(case, name, turns[name], loop.failure, free)


def _measured_turns(
    case: EngineLoop, loops: dict[str, LoopProcess], effort: Effort, say: Say
) -> dict[str, list[LoopTurn]]:
    """Turns for each viewer. They come in groups of three: without a viewer, with the viewer, without a viewer. If a
    viewer other than twixt's viewer fails, the other viewers continue."""
    turns: dict[str, list[LoopTurn]] = {name: [] for name in loops}
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


def _loop_row(case: EngineLoop, viewer: str, turns: list[LoopTurn], failure: str, free: list[str]) -> Row:
    name = f"step, {case.name}: {viewer}"
    found, of_cpu = slowdown(turns), slowdown([turn.by_cpu for turn in turns])
    if failure or found is None or of_cpu is None:
        return not_measured(name, "no viewer", failure)
    note = (
        f"slower by {found.median:+.1f} % (95 % interval: {found.low:+.1f} to {found.high:+.1f}); "
        f"processor time of the loop's thread: {of_cpu.median:+.1f} % ({of_cpu.low:+.1f} to {of_cpu.high:+.1f})"
        + (f"; free cores before and after: {', '.join(free)} of {usable_cores()}" if viewer == TWIXT else "")
    )
    alone_us = step_us(turns, False) or 0.0
    target = f"ratio <= {case.target:g}" if viewer == TWIXT else ""
    figure_us = alone_us * (1 + found.median / 100)
    return Row(name, "us", figure_us, "no viewer", alone_us, found.pairs, note, noise=found.noise, target=target)


def _sync_rows(name: str, path: str, target_us: float, effort: Effort) -> Iterator[Row]:
    with ExitStack() as stack:

        def loop(viewer: str, publish_hz: float | None = None) -> LoopProcess:
            program = loop_process(MODEL, effort.settling_s, viewer=viewer, model=path, publish_hz=publish_hz)
            return stack.enter_context(program)

        loops = {GATED: loop(TWIXT, NO_STATE_HZ), PUBLISHED: loop(TWIXT, ALL_STATES_HZ), PASSIVE: loop(PASSIVE)}
        times: dict[str, list[float]] = {case: [] for case in loops}

        def sync_us(case: str) -> list[float]:
            with suppress(TwixtError):
                return [] if loops[case].failure else loops[case].sync_us(effort.sync_calls)
            return []

        order = (case for _ in range(effort.sync_turns) for case in loops)
        for case, us in run_in_turns(order, sync_us):
            times[case] += us
    theirs = loops[PASSIVE].failure
    limit = None if theirs else statistics.median(times[PASSIVE])
    note = f"{PASSIVE} not measured: {theirs}" if theirs else "each call directly follows the last call"
    for case, most_us in ((GATED, GATED_TARGET_US), (PUBLISHED, target_us)):
        _require(loops[case])
        # The limit for a state that is not published holds only for a humanoid. The cost of such a state grows with
        # the model, because a copy of the state is stored for a later publish.
        target = "" if case == GATED and name != "humanoid" else f"figure <= {most_us:g}"
        median, calls = statistics.median(times[case]), len(times[case])
        yield Row(f"sync, {name}, {case}", "us", median, f"sync of {PASSIVE}", limit, calls, note, target=target)

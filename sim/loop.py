"""The physics process: makes the world, sets it in motion, and ends it for whatever reason comes first.

The door is open and the viewer, where there is one, on its way before the world is imported. What ends a run:
its steps or seconds are over, the viewer has gone, Ctrl-C, a viewer's wish, or a crash in the user's world.

Always: however it ends, viewers are told and the name is given back; a crash shows the user's own traceback and
exits with 1; whatever the user could have put right at the command line is raised as TwixtError before anything runs.
"""

from __future__ import annotations

import math
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

from twixt.ipc import spans as kinds
from twixt.ipc import start
from twixt.ipc.config import Config
from twixt.ipc.door import Door
from twixt.ipc.errors import TwixtError, WorldCrashed
from twixt.ipc.host import Host
from twixt.ipc.layout import Layout
from twixt.ipc.spans import NOT_RECORDED
from twixt.ipc.users_code import CODE_FOLDERS, code_folders
from twixt.sim.garbage import IdleCollector
from twixt.sim.pace import check_pace, dt_log_of, stride_of
from twixt.sim.physics import LONGEST_WAIT_NS, Physics
from twixt.sim.publisher import Publisher
from twixt.sim.resident import resident_mib
from twixt.sim.results import print_results
from twixt.sim.schedule import Schedule
from twixt.sim.stride import Plain, Stride
from twixt.sim.trouble import Trouble
from twixt.sim.viewer_process import ViewerProcess
from twixt.sim.watch import Watch, exit_code_of
from twixt.sim.world import (
    World,
    drawable_scene,
    find_world,
    make_world,
    seed_of,
    state_hash,
)

if TYPE_CHECKING:
    from twixt.ipc.trace_file import Trace
    from twixt.sim.dt_log import DtLog

HANGUP = getattr(signal, "SIGHUP", None)
# A viewer takes half a second to come up; one that does not in this time is broken, and time starts without it.
VIEWER_PATIENCE_S = 10.0
# A viewer shows a crash for some seconds and then ends; one that does not is ended.
CRASH_SHOWN_S = 20.0
# A viewer that is told that the simulation has ended may still have a report and a plot to write.
REPORT_PATIENCE_S = 30.0
# What a viewer has to end by itself after Ctrl-C, which it gets too, before it is ended.
FAREWELL_S = 0.3


def simulate(
    config: Config,
    *,
    door: Door,
    viewer: ViewerProcess | None = None,
    steps: int | None = None,
    print_hash: bool = False,
    json_file: str | None = None,
) -> int:
    """Runs `config.world` behind `door` until it ends; the exit code.

    viewer: the one that was started for this run; its end ends the run, and its exit code is the run's. Without one
    the run ends after `config.seconds` or `steps`, whichever is first, or never. json_file: where the physics and
    channel blocks go at the end, `-` for standard output.
    """
    if config.profile is None:
        return _simulate(config, door, viewer, None, steps, print_hash, json_file)
    from twixt.ipc.trace_file import open_trace, written_at_the_end

    trace = open_trace(config, kinds.PHYSICS) if viewer is None else viewer.trace
    with written_at_the_end(trace):
        return _simulate(config, door, viewer, trace, steps, print_hash, json_file)


def _simulate(
    config: Config, door: Door, viewer: ViewerProcess | None, trace: Trace | None, steps: int | None, print_hash: bool,
    json_file: str | None,
) -> int:  # fmt: skip
    run = _Run(config, door, viewer, trace)
    watch = Watch(viewer, run.last_words)
    error = _lived(run, watch, steps)
    if watch.signal is not None:
        # Whatever the error: Python's locks and much C code raise another one than that which interrupts them.
        code = run.end_asked(watch.signal)
    elif error is None or (watch.is_due and isinstance(error, KeyboardInterrupt | TwixtError)):
        try:
            code = run.end_well(watch)
        except KeyboardInterrupt:
            code = run.end_asked(signal.SIGINT)
    elif isinstance(error, KeyboardInterrupt):  # the world's own
        code = run.end_asked(signal.SIGINT)
    else:
        return run.end_failed(error)
    if run.physics is not None and watch.signal != HANGUP:  # nobody is left to read it
        results = run.report()
        if print_hash:
            results["state_hash"] = run.state_hash(was_asked=code != 0)
        print_results(results, json_file)
    return code


def _lived(run: _Run, watch: Watch, steps: int | None) -> BaseException | None:
    """The run from its making until it lets go; what was raised in it."""
    try:
        watch.begin()
        try:
            run.make()
            run.live(watch, steps)
        finally:
            watch.end()
    except BaseException as error:
        return error
    return None


class _Run:
    """One run's parts, as far as they have come to be."""

    def __init__(self, config: Config, door: Door, viewer: ViewerProcess | None, trace: Trace | None) -> None:
        self.physics: Physics | None = None
        self._trace, self._spans = trace, NOT_RECORDED if trace is None else trace.spans
        self._config, self._door, self._viewer = config, door, viewer
        self._seed: Any = config.seed
        self._host: Host | None = None
        self._collector = IdleCollector()
        self._stride: Stride = Plain()
        self._dt_log: DtLog | None = None
        self._began_mib: float | None = None

    def make(self) -> None:
        """World, host and publisher; the first snapshot is published and simulated time stands still."""
        config, spans = self._config, self._spans
        check_pace(config)
        spans.lap(kinds.START)
        kind = find_world(config.world)
        spans.lap(kinds.IMPORT_WORLD)

        def remake() -> World:
            return make_world(kind, config.settings, config.seed, dt)

        dt = None if config.physics_hz is None else 1 / config.physics_hz
        self._seed = seed_of(kind, config.settings, config.seed)
        world = remake()
        start.ended("physics_world")
        spans.lap(kinds.MAKE_WORLD)
        stride = self._stride = stride_of(config, world.dt)
        self._dt_log = dt_log_of(config, world.dt)
        capacity = max(1, len(world.bodies))
        columns = world.bodies.column_layout
        host = Host(self._door, drawable_scene(world), capacity, columns, describe=lambda: self._describe(world))
        self._host = host
        lead_ns = None if config.lead_ms is None else round(config.lead_ms * 1e6)
        schedule = Schedule(world.dt, config.time_scale, lead_ns, round(1e9 / config.publish_hz), stride)
        publisher = Publisher(host, schedule.plan, config.publish_hz, spans=spans)
        trouble = Trouble(config.troubles, config.seed)
        host.on_report = self.report
        self.physics = Physics(
            world,
            remake,
            self._seed,
            schedule,
            publisher,
            host,
            trouble,
            collector=self._collector,
            dt_log=self._dt_log,
            spans=spans,
        )
        self._began_mib = resident_mib()
        start.ended("physics_first_snapshot")
        spans.lap(kinds.FIRST_SNAPSHOT)

    def live(self, watch: Watch, steps: int | None) -> None:
        """Steps until something ends the run."""
        physics, host = self._made()
        self._collector.begin()  # now: it would hold up the answer to the viewer that comes
        if self._viewer is not None:
            patience_ends = time.monotonic() + VIEWER_PATIENCE_S
            while not (host.viewer_came.wait(LONGEST_WAIT_NS / 1e9) or watch.is_due):
                if time.monotonic() > patience_ends:
                    break
            start.ended("physics_viewer")
            self._spans.lap(kinds.AWAIT_VIEWER)
        physics.start()
        # In a run the viewer counts the seconds, from its first frame on.
        seconds = self._config.seconds if self._viewer is None else None
        ends_ns = math.inf if seconds is None else time.perf_counter_ns() + seconds * 1e9
        meter = physics.publisher.meter
        while not watch.is_due and not physics.wants_to_quit:
            if time.perf_counter_ns() >= ends_ns or (steps is not None and meter.steps >= steps):
                break
            if self._stride.is_over:
                break
            steps_before = meter.steps
            physics.turn()
            if watch.signal is not None and meter.steps > steps_before:
                physics.is_half_made = True  # the signal came in the step, and it went on with it somehow
        physics.finish()

    def end_well(self, watch: Watch) -> int:
        """Nothing went wrong here; the viewer's code, if there was one."""
        self.close("ended", "the simulation has ended")
        if self._viewer is None:
            return 0
        code = self._viewer.wait(REPORT_PATIENCE_S)
        if code is None:
            self._viewer.stop(FAREWELL_S)
            return 0
        if (code < 0 or not self._viewer.is_code_known) and watch.signal is None:
            print(f"twixt: the viewer {self._viewer.ending}, so the run ends", file=sys.stderr, flush=True)
        return exit_code_of(code)

    def end_asked(self, number: int) -> int:
        """A signal asked for it."""
        by = "with Ctrl-C" if number == signal.SIGINT else f"by {signal.Signals(number).name}"
        self.close("interrupted", f"the simulation was ended {by}")
        return exit_code_of(-number)

    def end_failed(self, error: BaseException) -> int:
        """What the user can put right is raised again, before anything runs; so is what nobody expected."""
        if not isinstance(error, TwixtError):
            self.close("ended", "the simulation's process exits")
            raise error
        if self.physics is None and not isinstance(error, WorldCrashed):
            self.close("crashed", str(error))
            raise error
        return self._end_crashed(error)

    def _end_crashed(self, error: TwixtError) -> int:
        """The user's world crashed: their traceback here, the message in the viewer, which shows it a while."""
        print(getattr(error, "traceback_text", ""), end="", file=sys.stderr)
        print(f"twixt: {error}", file=sys.stderr, flush=True)
        if self._host is not None and self._viewer is not None:
            self._host.end("crashed", str(error))
            try:
                self._viewer.wait(CRASH_SHOWN_S)
            except KeyboardInterrupt:
                pass
        self.close("crashed", str(error))
        return int(error.exit_code)

    def close(self, kind: str, message: str) -> None:
        """Viewers are told, the name is given back, nothing is left. May be called again."""
        if self._host is None:
            if self._viewer is not None:
                self._viewer.terminate()  # before it finds a closed door and tells of that
            self._door.close()
        else:
            self._host.end(kind, message)
        self._collector.end()
        if self._dt_log is not None:
            self._dt_log.close()
        if self._viewer is not None and kind != "ended":
            if kind == "interrupted" and self._config.report:
                self._viewer.wait(REPORT_PATIENCE_S)  # a second Ctrl-C ends this
            self._viewer.stop(FAREWELL_S)

    def last_words(self) -> None:
        """The process is about to exit under a step that hangs."""
        print("twixt: the world's step does not return; the process ends without it", file=sys.stderr, flush=True)
        self._door.close()
        if self._viewer is not None:
            self._viewer.kill()
        if self._trace is not None:
            self._trace.write()

    def report(self) -> dict[str, Any]:
        """The blocks of the report that physics knows."""
        physics, host = self._made()
        block = physics.publisher.meter.report()
        world = physics.world
        dt_s = physics.schedule.dt_s
        block |= {"physics_hz": 1 / dt_s, "dt_ms": dt_s * 1e3, "seed": self._seed}
        block["memory_mib"] = {"begin": self._began_mib, "end": resident_mib()}  # a world that leaks shows
        size = Layout.for_bodies(0, world.bodies.column_layout).snapshot_bytes(len(world.bodies))
        channel = {"bytes_per_snapshot": size, "commands_refused": host.commands_refused}
        blocks = {"physics": block, "channel": channel}
        began_ns = self._config.started_ns
        return blocks if self._viewer is None or began_ns is None else blocks | {"start": start.parts_ms(began_ns)}

    def state_hash(self, was_asked: bool) -> str | None:
        """The hash of the state, None where the world was interrupted while it changed. was_asked: before its time."""
        physics, _ = self._made()
        tick = physics.schedule.tick
        if physics.is_half_made:
            print(
                f"twixt: no hash: the step after step {tick} was interrupted, its state is half made", file=sys.stderr
            )
            return None
        if was_asked:
            print(f"twixt: the hash is that of the state after step {tick}", file=sys.stderr)
        return state_hash(physics.world)

    def _describe(self, world: World) -> dict[str, Any]:
        about = {"world": self._config.world, "dt_ms": world.dt * 1e3, "seed": self._seed}
        return {**about, CODE_FOLDERS: code_folders()}

    def _made(self) -> tuple[Physics, Host]:
        assert self.physics is not None
        assert self._host is not None
        return self.physics, self._host

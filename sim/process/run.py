"""Runs the physics process from its start to its exit code. Also checks the command-line flags for pace.

The socket listens and the viewer is started before the world is imported. A run ends when its steps or seconds are
over, when its viewer ends or sends the command to quit, on a signal (Ctrl-C, SIGTERM, SIGHUP), or when the world fails.

Always: at the end of a run, viewers receive the reason, and the name is free again. If the world crashes, the traceback
of the user's code is printed, and the exit code is 1. Errors in the command line are raised as TwixtError before that.
"""

from __future__ import annotations

import contextlib
import math
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from twixt.ipc.config.flags import Config
from twixt.ipc.errors import FINISHED, TwixtError, exit_code_of, has_reader_gone
from twixt.ipc.process.notices import print_notice
from twixt.ipc.process.user_code import CODE_FOLDERS, UserCodeCrashed, code_folders
from twixt.ipc.ring.layout import Layout
from twixt.ipc.session.host import Host
from twixt.ipc.system.interface import Listener
from twixt.ipc.trace import spans
from twixt.ipc.trace import spans as kinds
from twixt.ipc.trace.spans import NOT_RECORDED
from twixt.sim.process.figures import print_results, resident_mib
from twixt.sim.process.turns import LONGEST_WAIT_NS, IdleCollector, Physics, physics_def
from twixt.sim.process.viewer_process import ViewerProcess
from twixt.sim.process.watchdog import Watchdog
from twixt.sim.schedule.schedule import FASTEST, SLOWEST
from twixt.sim.schedule.step_multiple import MAX_STEP_MS, DtLog, FixedStride, Origin, ReplayedSteps, Stride, Widening
from twixt.sim.world.marks import first_capacity
from twixt.sim.world.world import LONGEST_DT, SHORTEST_DT, World, drawable_scene, state_hash
from twixt.sim.worlds.find import find_world, make_world, seed_of

if TYPE_CHECKING:
    from twixt.ipc.trace.trace_file import Trace


HANGUP = getattr(signal, "SIGHUP", None)
# A viewer usually attaches half a second after its start. If it has not attached after this time, in seconds,
# simulated time starts without the viewer.
VIEWER_TIMEOUT_S = 10.0
# After a crash of the world, a viewer shows the message for some seconds and then ends. If it still runs after this
# time, in seconds, it is terminated.
CRASH_SHOWN_S = 20.0
# Longest time, in seconds, that a viewer may take to write a report and a plot after the end of the simulation.
REPORT_PATIENCE_S = 30.0
# A viewer also receives Ctrl-C and ends by itself. If it still runs after this time, in seconds, it is terminated.
EXIT_GRACE_S = 0.3


def simulate(
    config: Config,
    *,
    listener: Listener,
    viewer: ViewerProcess | None = None,
    steps: int | None = None,
    print_hash: bool = False,
    json_file: str | None = None,
    find: Callable[[str], type[World]] = find_world,
) -> int:
    """Runs `config.world` until the run ends. Its viewers connect through `listener`. Returns the exit code.

    viewer: the viewer that was started for this run, or None. When this viewer ends, the run ends with the viewer's
    exit code. steps: largest number of steps. Without a viewer, `config.seconds` limits the run as well. print_hash:
    True to print the hash of the final state. json_file: file for the blocks of the report about physics and channel;
    `-` for standard output. find: function that returns the class of a world from the world's name. Raises TwixtError
    for errors that occur before the world runs.
    """
    with contextlib.ExitStack() as at_end:
        trace = None
        if config.profile is not None:
            from twixt.ipc.trace.trace_file import open_trace, written_at_the_end

            trace = open_trace(config, kinds.PHYSICS) if viewer is None else viewer.trace
            at_end.enter_context(written_at_the_end(trace))
        run = PhysicsRun(config, listener, viewer, trace, find)
        watchdog = Watchdog(viewer, run.abort)
        error = _error_of_run(run, watchdog, steps)
        if watchdog.signal is not None:
            # The signal decides, not the type of the exception. Locks and C code often raise another exception when a
            # signal interrupts them.
            code = run.end_by_signal(watchdog.signal)
        elif error is None or (watchdog.is_due and isinstance(error, KeyboardInterrupt | TwixtError)):
            try:
                code = run.end_regularly(watchdog)
            except KeyboardInterrupt:
                code = run.end_by_signal(signal.SIGINT)
        elif isinstance(error, KeyboardInterrupt):  # The world itself has raised KeyboardInterrupt.
            code = run.end_by_signal(signal.SIGINT)
        else:
            return run.end_failed(error)
        if run.physics is not None and watchdog.signal != HANGUP:  # After a hangup there is no terminal to print to.
            results = run.report()
            if print_hash:
                results["state_hash"] = run.state_hash(was_interrupted=code != 0)
            print_results(results, json_file)
        return code


def _error_of_run(run: PhysicsRun, watchdog: Watchdog, steps: int | None) -> BaseException | None:
    """Creates the world and the physics object, and makes steps until the run ends. Returns the exception that ended
    the run, or None."""
    try:
        watchdog.begin()
        try:
            run.make()
            run.step_until_end(watchdog, steps)
        finally:
            watchdog.end()
    except BaseException as error:
        return error
    return None


class PhysicsRun:
    """One run of the physics process. `world`, `host` and `physics` are None until `make` has created them."""

    def __init__(
        self,
        config: Config,
        listener: Listener,
        viewer: ViewerProcess | None,
        trace: Trace | None,
        find: Callable[[str], type[World]] = find_world,
    ) -> None:
        self.physics: Physics | None = None
        self._trace, self._spans = trace, NOT_RECORDED if trace is None else trace.spans
        self._config, self._listener, self._viewer, self._find = config, listener, viewer, find
        self._seed: Any = config.seed
        self._host: Host | None = None
        self._collector = IdleCollector()
        self._stride: Stride = FixedStride()
        self._dt_log: DtLog | None = None
        self._began_mib: float | None = None

    def make(self) -> None:
        """Creates world, host and physics object, and publishes the first snapshot. Simulated time does not run yet.

        Raises TwixtError for wrong flags, and UserCodeCrashed for an exception in the user's module or world.
        """
        config, spans = self._config, self._spans
        check_pace(config)
        spans.lap(kinds.START)
        kind = self._find(config.world)
        spans.lap(kinds.IMPORT_WORLD)

        def remake() -> World:
            return make_world(kind, config.settings, config.seed, dt)

        dt = None if config.physics_hz is None else 1 / config.physics_hz
        self._seed = seed_of(kind, config.settings, config.seed)
        world = remake()
        spans.end_phase(kinds.MAKE_WORLD)
        stride = self._stride = stride_of(config, world.dt)
        self._dt_log = dt_log_of(config, world.dt)
        capacity = max(
            first_capacity(len(world.bodies), world.marks, world.surfaces),
            world.bodies.columns._part_count(len(world.bodies)),
        )
        columns = world.bodies._column_layout
        host = Host(self._listener, drawable_scene(world), capacity, columns, describe=lambda: self._describe(world))
        self._host = host
        host.on_report = self.report
        self.physics = Physics(
            replace(
                physics_def(config, world, host, stride, spans=spans),
                remake=remake,
                seed=self._seed,
                collector=self._collector,
                dt_log=self._dt_log,
            )
        )
        self._began_mib = resident_mib()
        spans.end_phase(kinds.FIRST_SNAPSHOT)

    def step_until_end(self, watchdog: Watchdog, steps: int | None) -> None:
        """If there is a viewer, waits until the viewer has attached. Then makes steps until the run ends. steps:
        largest number of steps."""
        physics, host = self._made()
        # `begin` comes before the viewer attaches, because a garbage collection would delay the reply to the viewer.
        self._collector.begin()
        if self._viewer is not None:
            patience_ends = time.monotonic() + VIEWER_TIMEOUT_S
            while not (host.viewer_attached.wait(LONGEST_WAIT_NS / 1e9) or watchdog.is_due):
                if time.monotonic() > patience_ends:
                    break
            self._spans.end_phase(kinds.AWAIT_VIEWER)
        physics.start()
        # In a run with a viewer, the viewer itself counts the seconds, beginning at its first frame.
        seconds = self._config.seconds if self._viewer is None else None
        ends_ns = math.inf if seconds is None else time.perf_counter_ns() + seconds * 1e9
        meter = physics.publisher.meter
        while not watchdog.is_due and not physics.wants_to_quit:
            if time.perf_counter_ns() >= ends_ns or (steps is not None and meter.steps >= steps):
                break
            if self._stride.is_over:
                break
            steps_before = meter.steps
            physics.turn()
            if watchdog.signal is not None and meter.steps > steps_before:
                physics.is_half_made = True  # The step itself caught the exception that the signal raised.
        physics.finish()

    def end_regularly(self, watchdog: Watchdog) -> int:
        """Ends a run that had no error. Returns the viewer's exit code if there was a viewer, else FINISHED."""
        self.close("ended", "the simulation has ended")
        if self._viewer is None:
            return FINISHED
        code = self._viewer.wait(REPORT_PATIENCE_S)
        if code is None:
            self._viewer.stop(EXIT_GRACE_S)
            return FINISHED
        if (code < 0 or not self._viewer.is_code_known) and watchdog.signal is None:
            print_notice(f"the viewer {self._viewer.ending}, so the run ends")
        return exit_code_of(code)

    def end_by_signal(self, number: int) -> int:
        """Ends a run that signal `number` interrupted. Returns the exit code of the run."""
        by = "with Ctrl-C" if number == signal.SIGINT else f"by {signal.Signals(number).name}"
        self.close("interrupted", f"the simulation was ended {by}")
        return exit_code_of(-number)

    def end_failed(self, error: BaseException) -> int:
        """Ends a run after an error. Returns an exit code if the user's code raised the error, or if it is a
        TwixtError that was raised after `physics` was created.

        Raises any other error again.
        """
        if has_reader_gone(error):
            self.close("ended", "the reader of the simulation's output has closed it")
            raise BrokenPipeError from error
        if not isinstance(error, TwixtError):
            self.close("ended", "the simulation's process has exited")
            raise error
        if self.physics is None and not isinstance(error, UserCodeCrashed):
            self.close("crashed", str(error))
            raise error
        return self._end_crashed(error)

    def _end_crashed(self, error: TwixtError) -> int:
        """Prints the traceback of the user's world. Then waits while the viewer shows the message for some seconds.
        Returns the exit code of the run."""
        print_notice(str(error), getattr(error, "traceback_text", ""))
        if self._host is not None and self._viewer is not None:
            self._host.end("crashed", str(error))
            try:
                self._viewer.wait(CRASH_SHOWN_S)
            except KeyboardInterrupt:
                pass
        self.close("crashed", str(error))
        return int(error.exit_code)

    def close(self, kind: str, message: str) -> None:
        """Tells viewers that the run has ended, frees the name, and ends the run's viewer. May be called again."""
        if self._host is None:
            if self._viewer is not None:
                # The viewer is terminated now. Otherwise it would report that there is no simulation.
                self._viewer.terminate()
            self._listener.close()
        else:
            self._host.end(kind, message)
        self._collector.end()
        if self._dt_log is not None:
            self._dt_log.close()
        if self._viewer is not None and kind != "ended":
            if kind == "interrupted" and self._config.report:
                self._viewer.wait(REPORT_PATIENCE_S)  # a second Ctrl-C ends this wait
            self._viewer.stop(EXIT_GRACE_S)

    def abort(self) -> None:
        """Kills the viewer and closes the socket. Called just before the process exits although a step has not
        returned."""
        print_notice("the world's step does not return; the process ends without waiting for it")
        self._listener.close()
        if self._viewer is not None:
            self._viewer.kill()
        if self._trace is not None:
            self._trace.write()

    def report(self) -> dict[str, Any]:
        """Returns the blocks of the report about physics and channel. In a run with a viewer, it also returns the
        blocks about the start."""
        physics, host = self._made()
        block = physics.publisher.meter.report()
        world = physics.world
        dt_s = physics.schedule.dt_s
        block |= {"physics_hz": 1 / dt_s, "dt_ms": dt_s * 1e3, "seed": self._seed}
        # The two values show whether the world leaks memory.
        block["memory_mib"] = {"begin": self._began_mib, "end": resident_mib()}
        size = Layout.for_bodies(0, world.bodies._column_layout).snapshot_bytes(
            len(world.bodies),
            len(world.marks or ()) + len(() if world.surfaces is None else world.surfaces.records),
            world.bodies.columns._part_count(len(world.bodies)),
        )
        channel = {"bytes_per_snapshot": size, "commands_refused": host.commands.refused}
        blocks = {"physics": block, "channel": channel, "events": physics.events.report()}
        began_ns = self._config.started_ns
        if self._viewer is None or began_ns is None:
            return blocks
        return blocks | {"start": spans.start_phases_ms(began_ns)}

    def state_hash(self, was_interrupted: bool) -> str | None:
        """Returns the hash of the state, or None if a step was interrupted. was_interrupted: True if the run ended
        early; the number of the last step is then printed."""
        physics, _ = self._made()
        tick = physics.schedule.tick
        if physics.is_half_made:
            print_notice(f"no hash, because step {tick + 1} was interrupted and its state is incomplete")
            return None
        if was_interrupted:
            print_notice(f"the hash is of the state after step {tick}")
        return state_hash(physics.world)

    def _describe(self, world: World) -> dict[str, Any]:
        about = {"world": self._config.world, "dt_ms": world.dt * 1e3, "seed": self._seed}
        return {**about, CODE_FOLDERS: code_folders()}

    def _made(self) -> tuple[Physics, Host]:
        assert self.physics is not None
        assert self._host is not None
        return self.physics, self._host


# Checks the flags for rates, step multiples and step logs. Some of these checks need the length of a step.
#
# A wrong flag raises TwixtError before the world runs. The error has the value, the rule and a remedy. No flag is
# checked after that.


# Largest lead in ms: the time by which a snapshot is published before it is due. With a longer lead, commands would
# take effect many seconds later.
MAX_LEAD_MS = 10_000.0
# Relative rounding error that is allowed in the length of a step. So a step of exactly --max-step-ms is accepted.
ROUNDING = 1e-9


def check_pace(config: Config) -> None:
    """Raises TwixtError for a time scale, lead or rate that is out of bounds."""
    if not SLOWEST <= config.time_scale <= FASTEST:
        raise TwixtError(f"--time-scale must be from {SLOWEST:g} to {FASTEST:g}, got {config.time_scale:g}")
    if config.lead_ms is not None and config.lead_ms > MAX_LEAD_MS:
        raise TwixtError(
            f"--lead must be at most {MAX_LEAD_MS:g} ms, got {config.lead_ms:g}; use a smaller lead, or auto"
        )
    if config.physics_hz is not None and not SHORTEST_DT <= 1 / config.physics_hz <= LONGEST_DT:
        bounds = f"from {1 / LONGEST_DT:.2g} to {1 / SHORTEST_DT:g}"
        raise TwixtError(f"--physics-hz must be {bounds} steps per simulated second, got {config.physics_hz:g}")


def stride_of(config: Config, dt_s: float) -> Stride:
    """Returns the rule for the step multiple, which --dt-replay, --when-slow and --max-step-ms determine. dt_s:
    simulated seconds per step.

    Raises TwixtError for a log that cannot be replayed, or if --max-step-ms is below `dt_s`.
    """
    if config.dt_replay is not None:
        return _replay_of(config, config.dt_replay, dt_s)
    if config.when_slow != "widen":
        return FixedStride()
    max_step_ms = MAX_STEP_MS if config.max_step_ms is None else config.max_step_ms
    most = int(max_step_ms / 1e3 / dt_s * (1 + ROUNDING))
    if most < 1 and config.max_step_ms is not None:
        raise TwixtError(
            f"--max-step-ms must be at least the world's own step, {dt_s * 1e3:g} ms, got {max_step_ms:g}; "
            "use a larger value, or a higher --physics-hz"
        )
    return Widening(most)


def dt_log_of(config: Config, dt_s: float) -> DtLog | None:
    """The log of --dt-log, open for writing. None without this flag. Raises TwixtError if the file cannot be opened."""
    if config.dt_log is None:
        return None
    from twixt.sim.schedule.step_multiple import DtLog

    return DtLog(config.dt_log, _origin_of(config, dt_s))


def _replay_of(config: Config, path: str, dt_s: float) -> ReplayedSteps:
    from twixt.sim.schedule.step_multiple import ReplayedSteps, check_origin, read_dt_log

    log = read_dt_log(path)
    check_origin(path, log, _origin_of(config, dt_s))
    if not log.has_end:
        print_notice(
            f"--dt-replay {path!r} is incomplete, because its run was killed; twixt repeats its {len(log.multiples)} steps"
        )
    return ReplayedSteps(log.multiples)


def _origin_of(config: Config, dt_s: float) -> Origin:
    from twixt.sim.schedule.step_multiple import Origin

    return Origin(config.world, config.seed, dt_s, config.settings)

"""Checks of the flags of pace: rates, step multiples, step logs; alone and against the world's dt.

Raises TwixtError with value, rule and way out, before anything runs. Checks nothing while physics runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from twixt.ipc.config.config import Config
from twixt.ipc.errors import TwixtError
from twixt.ipc.process.notices import print_notice
from twixt.sim.schedule.schedule import FASTEST, SLOWEST
from twixt.sim.schedule.step_multiple import MAX_STEP_MS, FixedStride, Stride, Widening
from twixt.sim.world.world import LONGEST_DT, SHORTEST_DT

if TYPE_CHECKING:
    from twixt.sim.schedule.dt_log import DtLog, Origin, ReplayedSteps

# With a longer lead, the effect of a user's command would be visible only many seconds later.
MAX_LEAD_MS = 10_000.0
# A step of exactly --max-step-ms is allowed, whatever the rounding of its length.
ROUNDING = 1e-9


def check_pace(config: Config) -> None:
    """Raises TwixtError for a time scale, lead or rate out of bounds."""
    if not SLOWEST <= config.time_scale <= FASTEST:
        raise TwixtError(f"--time-scale must be from {SLOWEST:g} to {FASTEST:g}, got {config.time_scale:g}")
    if config.lead_ms is not None and config.lead_ms > MAX_LEAD_MS:
        raise TwixtError(f"--lead must be at most {MAX_LEAD_MS:g} ms, got {config.lead_ms:g}; auto is best for most")
    if config.physics_hz is not None and not SHORTEST_DT <= 1 / config.physics_hz <= LONGEST_DT:
        bounds = f"from {1 / LONGEST_DT:.2g} to {1 / SHORTEST_DT:g}"
        raise TwixtError(f"--physics-hz must be {bounds} steps per simulated second, got {config.physics_hz:g}")


def stride_of(config: Config, dt_s: float) -> Stride:
    """The step multiple by --dt-replay, --when-slow and --max-step-ms, in steps of `dt_s` seconds.

    Raises TwixtError for a log that cannot be replayed, or a longest step below `dt_s`.
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
            "raise it, or the world's --physics-hz"
        )
    return Widening(most)


def dt_log_of(config: Config, dt_s: float) -> DtLog | None:
    """The log of --dt-log, open for writing; None without the flag. Raises TwixtError if it cannot be opened."""
    if config.dt_log is None:
        return None
    from twixt.sim.schedule.dt_log import DtLog

    return DtLog(config.dt_log, _origin_of(config, dt_s))


def _replay_of(config: Config, path: str, dt_s: float) -> ReplayedSteps:
    from twixt.sim.schedule.dt_log import ReplayedSteps, check_origin, read_dt_log

    log = read_dt_log(path)
    check_origin(path, log, _origin_of(config, dt_s))
    if not log.has_end:
        print_notice(
            f"--dt-replay {path!r} has no end, its run was killed; the {len(log.multiples)} steps it holds are made"
        )
    return ReplayedSteps(log.multiples)


def _origin_of(config: Config, dt_s: float) -> Origin:
    from twixt.sim.schedule.dt_log import Origin

    return Origin(config.world, config.seed, dt_s, config.settings)

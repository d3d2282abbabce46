"""What the flags say about the pace of a run, checked where they alone, or with the world's dt, make no sense.

Raises TwixtError with value, rule and way out, before anything runs. Decides nothing while it runs.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from twixt.ipc.config import Config
from twixt.ipc.errors import TwixtError
from twixt.sim.schedule import FASTEST, SLOWEST
from twixt.sim.stride import MAX_STEP_MS, Plain, Stride, Widening
from twixt.sim.world import LONGEST_DT, SHORTEST_DT

if TYPE_CHECKING:
    from twixt.sim.dt_log import DtLog, Origin, Replay

# Published further ahead, nothing that a user does would be seen for seconds.
MAX_LEAD_MS = 10_000.0
# A step of just --max-step-ms is allowed, whatever the last digit of its length in binary.
ROUNDING = 1e-9


def check_pace(config: Config) -> None:
    """Raises TwixtError for a pace beyond all bounds."""
    if not SLOWEST <= config.time_scale <= FASTEST:
        raise TwixtError(f"--time-scale must be from {SLOWEST:g} to {FASTEST:g}, got {config.time_scale:g}")
    if config.lead_ms is not None and config.lead_ms > MAX_LEAD_MS:
        raise TwixtError(f"--lead must be at most {MAX_LEAD_MS:g} ms, got {config.lead_ms:g}; auto is best for most")
    if config.physics_hz is not None and not SHORTEST_DT <= 1 / config.physics_hz <= LONGEST_DT:
        bounds = f"from {1 / LONGEST_DT:.2g} to {1 / SHORTEST_DT:g}"
        raise TwixtError(f"--physics-hz must be {bounds} steps per simulated second, got {config.physics_hz:g}")


def stride_of(config: Config, dt_s: float) -> Stride:
    """How many steps of `dt_s` seconds are made at once: as --dt-replay, --when-slow and --max-step-ms say."""
    if config.dt_replay is not None:
        return _replay_of(config, config.dt_replay, dt_s)
    if config.when_slow != "widen":
        return Plain()
    max_step_ms = MAX_STEP_MS if config.max_step_ms is None else config.max_step_ms
    most = int(max_step_ms / 1e3 / dt_s * (1 + ROUNDING))
    if most < 1 and config.max_step_ms is not None:
        raise TwixtError(
            f"--max-step-ms must be at least the world's own step, {dt_s * 1e3:g} ms, got {max_step_ms:g}; "
            "raise it, or the world's --physics-hz"
        )
    return Widening(most)


def dt_log_of(config: Config, dt_s: float) -> DtLog | None:
    """The log that --dt-log asks for, open."""
    if config.dt_log is None:
        return None
    from twixt.sim.dt_log import DtLog

    return DtLog(config.dt_log, _origin_of(config, dt_s))


def _replay_of(config: Config, path: str, dt_s: float) -> Replay:
    from twixt.sim.dt_log import Replay, check_origin, read_dt_log

    log = read_dt_log(path)
    check_origin(path, log, _origin_of(config, dt_s))
    if not log.has_end:
        print(
            f"twixt: --dt-replay {path!r} has no end, its run was killed; the {len(log.multiples)} steps it holds "
            "are made",
            file=sys.stderr,
            flush=True,
        )
    return Replay(log.multiples)


def _origin_of(config: Config, dt_s: float) -> Origin:
    from twixt.sim.dt_log import Origin

    return Origin(config.world, config.seed, dt_s, config.settings)

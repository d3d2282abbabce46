"""The page of the injected cases: docs/causes.md, written by the code that ran them."""

from __future__ import annotations

from collections.abc import Sequence

from tests.long.injected.trial import EXPECTED, KINDS, Judged, Trial
from twixt.render.measure.run_figures import COST_NAMES

INJECTED = {
    "draw": "30 ms more in drawing",
    "upload": "30 ms more in the upload of a snapshot",
    "user": "30 ms more in the user's drawing",
    "gc": "a forced `gc.collect()` of a heap of 700,000 lists",
    "stolen": "SIGSTOP for 20 ms",
    "stolen longer": "SIGSTOP for 40 ms",
    "physics": "a stall of 250 ms in a step of physics",
    "display": "a swap that returns 30 ms later",
}
ENOUGH = 0.95
# Of the frames in a quiet run; quiet is one in which the host took nothing and the wake error's p99 is below this.
MOST_BAD, QUIET_WAKE_US = 1e-3, 1e3
HEAD = """# Causes of bad frames, proved by injected trouble

Written by `python -m tests.long.injected --displays "{displays}" --cases {cases} --quiet-seconds {quiet:g} --out docs/causes.md`.
Each bad frame of a run is put down to *physics late*, *render late* (with the part of the frame that took its time)
or *display late*; `render/measure/run_figures.py` has the rules. Here trouble whose cause is known is injected into a real
viewer of a real physics process, from inside the viewer's process, at a frame that is known. A case counts as named
rightly when the frames that pay for it are bad and *all* of them are put down to its cause, and where that is
*render late*, to its part. A stall works in one half of the cases and sleeps in the other; SIGSTOP and garbage
collection come in drawing, upload, the user's drawing or between two frames.

A case is disturbed when, from 20 ms before the frames that pay for it to 20 ms after them, processes other than ours
had the cores for more than 10 ms and ours waited for a core for more than 2 ms, or the host took a core away: measured
from outside by `/proc/stat` and the kernel's run delay of every thread, whatever the case was put down to. Cases after
which no frame was bad were shown in time, and there is nothing to name: a Wayland compositor has a frame in hand while
the next is made, and shows in time what was handed over a refresh late.

"""

QUIET = """Fewer than one frame in 1,000 may be bad in a quiet run: one in which the host took no core away and the wake
error's p99 is under 1 ms. Stretches of a quarter of a second count as quiet by the same measure as cases count as
undisturbed. The frames in them that are bad, and all frames of the run beside them.
"""


def page(
    trials: dict[str, Trial], quiet: dict[str, Trial], conditions: list[str], asked: tuple[str, int, float]
) -> str:
    """asked: the displays, the cases of each kind, the quiet seconds."""
    displays, count, quiet_s = asked
    failed = broken(trials, quiet, count)
    parts = [HEAD.format(displays=displays, cases=count, quiet=quiet_s)]
    parts.append("".join(f"- {line}\n" for line in conditions))
    parts.append("- every bar is met\n" if not failed else "".join(f"- **not met** {line}\n" for line in failed))
    for display, trial in trials.items():
        parts.append(f"\n## {display}\n\n{_cases(trial)}")
        parts.append(f"\n{_run(trial)}\n")
        parts.append(_misnamed(trial))
    if quiet:
        parts.append(f"\n## Runs without injected trouble\n\n{QUIET}\n{_quiet(quiet)}")
    return "".join(parts)


def broken(trials: dict[str, Trial], quiet: dict[str, Trial], count: int) -> list[str]:
    """Bars that are not met, each in words; kinds with fewer cases than asked for among them."""
    lines = []
    for display, trial in trials.items():
        for kind in KINDS:
            judged = of_kind(trial, kind)
            share = share_right(judged)
            if share is not None and share < ENOUGH:
                lines.append(f"{display}, {INJECTED[kind]}: {share:.1%} named rightly, {ENOUGH:.0%} are wanted")
            if len(judged) < count:
                lines.append(f"{display}, {INJECTED[kind]}: {len(judged)} cases, {count} were asked for")
    for display, trial in quiet.items():
        bad = len(trial.clear_bad)
        if is_quiet(trial) and bad and bad >= MOST_BAD * trial.clear_frames:
            lines.append(f"{display}: {bad} of {trial.clear_frames} quiet frames are bad")
    return lines


def is_quiet(trial: Trial) -> bool:
    """Whether the bar of quiet runs applies."""
    return trial.steal_ms == 0 and trial.wake_p99_us < QUIET_WAKE_US


def share_right(judged: list[Judged]) -> float | None:
    """Of the cases with something to name that the machine did not disturb; where it disturbed all, of these."""
    named = [each for each in judged if not each.is_in_time]
    clear = [each for each in named if not each.lot.is_disturbed] or named
    return sum(each.is_right for each in clear) / len(clear) if clear else None


def of_kind(trial: Trial, kind: str) -> list[Judged]:
    """The trial's cases of that kind."""
    return [each for each in trial.judged if each.case.kind == kind]


def _cases(trial: Trial) -> str:
    lines = [
        "| injected | to be named | cases | shown in time | undisturbed, named rightly | disturbed, named rightly | all |",
        "|---|---|---|---|---|---|---|",
    ]
    for kind in KINDS:
        judged = of_kind(trial, kind)
        named = [each for each in judged if not each.is_in_time]
        clear = [each for each in named if not each.lot.is_disturbed]
        disturbed = [each for each in named if each.lot.is_disturbed]
        lines.append(
            f"| {INJECTED[kind]} | {EXPECTED[kind]} | {len(judged)} | {len(judged) - len(named)} | {_right(clear)} "
            f"| {_right(disturbed)} | {_right(named)}{f' ({sum(e.is_right for e in named) / len(named):.0%})' if named else ''} |"
        )
    return "\n".join(lines) + "\n"


def _right(judged: list[Judged]) -> str:
    return f"{sum(each.is_right for each in judged)} of {len(judged)}"


def _run(trial: Trial) -> str:
    return (
        f"{trial.frames} frames in {trial.seconds:.0f} s; other processes had {trial.others_share:.0%} of the cores, the "
        f"host took {trial.steal_ms:.0f} ms; our threads waited {trial.waited_ms / 1e3:.1f} s for a core."
    )


def _misnamed(trial: Trial) -> str:
    wrong = [each for each in trial.judged if not (each.is_right or each.is_in_time)]
    wrong.sort(key=lambda each: each.lot.is_disturbed)
    if not wrong:
        return "\nNo case was misnamed.\n"
    lines = [
        "\nMisnamed, undisturbed ones first (the most that each part took, in ms: " + ", ".join(COST_NAMES) + "):\n",
        "| injected | place | frame | bad frames named | parts | disturbed | others ms, waited ms |",
        "|---|---|---|---|---|---|---|",
    ]
    for each in wrong:
        how = (
            f"{each.case.place}, {'busy' if each.case.busy else 'asleep'}"
            if each.case.kind in COST_NAMES
            else each.case.place
        )
        named = _counted(each.named)
        parts = " ".join(f"{ms:g}" for ms in each.parts_ms)
        lot = f"{each.lot.others_ms:.0f}, {each.lot.waited_ms:.1f}"
        lines.append(
            f"| {each.case.kind} | {how} | {each.frame} | {named} | {parts} | {'yes' if each.lot.is_disturbed else 'no'} | {lot} |"
        )
    return "\n".join(lines) + "\n"


def _counted(names: Sequence[str]) -> str:
    return ", ".join(f"{names.count(name)} {name}" for name in dict.fromkeys(names))


def _quiet(quiet: dict[str, Trial]) -> str:
    lines = [
        "| display | frames that nobody disturbed | of them bad | per 1,000 | all frames | bad | wake error p99 "
        "| others' share of the cores | waited for a core |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for display, trial in quiet.items():
        clear, bad = (
            f"{len(names)}" + ("" if not names else " (" + _counted(names) + ")")
            for names in (trial.clear_bad, trial.bad)
        )
        lines.append(
            f"| {display} | {trial.clear_frames} | {clear} | {1e3 * len(trial.clear_bad) / max(1, trial.clear_frames):.2f} "
            f"| {trial.frames} | {bad} | {trial.wake_p99_us:.0f} us | {trial.others_share:.0%} "
            f"| {trial.waited_ms:.0f} ms |"
        )
    return "\n".join(lines) + "\n"

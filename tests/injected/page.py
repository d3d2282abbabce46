"""The page of the injected cases: docs/causes.md, written by the code that ran them."""

from __future__ import annotations

from tests.injected.trial import EXPECTED, KINDS, Judged, Trial
from twixt.render.measure.causes import PARTS

INJECTED = {
    "draw": "30 ms more in drawing",
    "upload": "30 ms more in the upload of a snapshot",
    "user": "30 ms more in the user's drawing",
    "gc": "a forced `gc.collect()` with a heap of 700,000 lists",
    "stolen": "SIGSTOP for 20 ms",
    "physics": "a stall of 250 ms in a step of physics",
    "display": "a swap that returns 30 ms later",
}
HEAD = """# Causes of bad frames, proved by injected trouble

Written by `python -m tests.injected --displays "{displays}" --cases {cases} --quiet-seconds {quiet:g} --out docs/causes.md`.
Each bad frame of a run is put down to *physics late*, *render late* (with the part of the frame that took its time)
or *display late*; `render/measure/causes.py` has the rules. Here trouble whose cause is known is injected into a real
viewer of a real physics process, from inside the viewer's process, at a frame that is known. A case counts as named
rightly when the frames that pay for it are bad and *all* of them are put down to its cause, and where that is
*render late*, to its part. A stall works in one half of the cases and sleeps in the other; SIGSTOP and garbage
collection come in drawing, upload, the user's drawing or between two frames.

A case is disturbed when, from 50 ms before it to 100 ms after it, processes other than ours had the cores for more than
30 ms and ours waited for a core for more than 2 ms, or the host took a core away: measured from outside by
`/proc/stat` and the kernel's run delay of every thread, whatever the case was put down to. Disturbed cases are shown,
and left out of the share.

"""


def page(
    trials: dict[str, Trial], quiet: dict[str, Trial], conditions: list[str], asked: tuple[str, int, float]
) -> str:
    """asked: the displays, the cases of each kind, the quiet seconds."""
    displays, count, quiet_s = asked
    parts = [HEAD.format(displays=displays, cases=count, quiet=quiet_s)]
    parts.append("".join(f"- {line}\n" for line in conditions))
    for display, trial in trials.items():
        parts.append(f"\n## {display}\n\n{_cases(trial)}")
        parts.append(f"\n{_run(trial)}\n")
        parts.append(_misnamed(trial))
    parts.append(f"\n## Quiet runs, without injected trouble\n\n{_quiet(quiet)}")
    return "".join(parts)


def share_right(judged: list[Judged]) -> float | None:
    """Of the cases that the machine did not disturb."""
    clear = [each for each in judged if not each.lot.is_disturbed]
    return sum(each.is_right for each in clear) / len(clear) if clear else None


def of_kind(trial: Trial, kind: str) -> list[Judged]:
    """The trial's cases of that kind."""
    return [each for each in trial.judged if each.case.kind == kind]


def _cases(trial: Trial) -> str:
    lines = [
        "| injected | to be named | cases | disturbed | of the others named rightly | of the disturbed |",
        "|---|---|---|---|---|---|",
    ]
    for kind in KINDS:
        judged = of_kind(trial, kind)
        clear = [each for each in judged if not each.lot.is_disturbed]
        disturbed = [each for each in judged if each.lot.is_disturbed]
        share = share_right(judged)
        lines.append(
            f"| {INJECTED[kind]} | {EXPECTED[kind]} | {len(judged)} | {len(disturbed)} "
            f"| {sum(each.is_right for each in clear)} of {len(clear)}{'' if share is None else f' ({share:.0%})'} "
            f"| {sum(each.is_right for each in disturbed)} of {len(disturbed)} |"
        )
    return "\n".join(lines) + "\n"


def _run(trial: Trial) -> str:
    return (
        f"{trial.frames} frames in {trial.seconds:.0f} s; other processes had {trial.others_share:.0%} of the cores, the "
        f"host took {trial.steal_ms:.0f} ms; our threads waited {trial.waited_ms / 1e3:.1f} s for a core."
    )


def _misnamed(trial: Trial) -> str:
    wrong = [each for each in trial.judged if not each.is_right and not each.lot.is_disturbed]
    if not wrong:
        return "\nNo undisturbed case was misnamed.\n"
    lines = [
        "\nMisnamed, and not disturbed (parts of the frame in ms: " + ", ".join(PARTS) + "):\n",
        "| injected | place | frame | bad frames named | parts | others ms, waited ms |",
        "|---|---|---|---|---|---|",
    ]
    for each in wrong:
        how = (
            f"{each.case.place}, {'busy' if each.case.busy else 'asleep'}"
            if each.case.kind in PARTS
            else each.case.place
        )
        named = ", ".join(f"{each.named.count(name)} {name}" for name in dict.fromkeys(each.named)) or "none was bad"
        parts = " ".join(f"{ms:g}" for ms in each.parts_ms)
        lot = f"{each.lot.others_ms:.0f}, {each.lot.waited_ms:.1f}"
        lines.append(f"| {each.case.kind} | {how} | {each.frame} | {named} | {parts} | {lot} |")
    return "\n".join(lines) + "\n"


def _quiet(quiet: dict[str, Trial]) -> str:
    lines = [
        "| display | frames | bad frames | per 1,000 | wake error p99 | others' share of the cores | waited for a core |",
        "|---|---|---|---|---|---|---|",
    ]
    for display, trial in quiet.items():
        kinds = ", ".join(f"{trial.bad.count(name)} {name}" for name in dict.fromkeys(trial.bad))
        lines.append(
            f"| {display} | {trial.frames} | {len(trial.bad)}{f' ({kinds})' if kinds else ''} "
            f"| {1e3 * len(trial.bad) / max(1, trial.frames):.2f} | {trial.wake_p99_us:.0f} us | {trial.others_share:.0%} "
            f"| {trial.waited_ms:.0f} ms |"
        )
    return "\n".join(lines) + "\n"

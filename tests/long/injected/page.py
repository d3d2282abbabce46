"""Writes the part of docs/measuring.md about injected trouble."""

from __future__ import annotations

from collections.abc import Sequence

from tests.long.injected.machine import MARGIN_NS, OTHERS_MS, WAITED_MS
from tests.long.injected.trial import EXPECTED, KINDS, Judged, Trial
from twixt.render.measure.run_figures import COST_NAMES

INJECTED = {
    "draw": "drawing takes 30 ms longer",
    "upload": "the upload of a snapshot takes 30 ms longer",
    "user": "the user's drawing takes 30 ms longer",
    "gc": "a forced `gc.collect()` of a heap of 700,000 lists",
    "stolen": "the viewer is stopped for 20 ms (SIGSTOP)",
    "stolen longer": "the viewer is stopped for 40 ms (SIGSTOP)",
    "physics": "a step of physics stalls for 250 ms",
    "display": "a swap that returns 30 ms later",
}
# Least share of right cases, among the undisturbed cases.
ENOUGH = 0.95
# MOST_BAD: limit of the share of bad frames in a quiet run. A run is quiet if the host took no time from it, and the
# p99 of its wake error is below QUIET_WAKE_US.
MOST_BAD, QUIET_WAKE_US = 1e-3, 1e3
# First paragraphs of the page's part about injected trouble.
HEAD = f"""Made by
`python -m tests.long.injected --displays "{{displays}}" --cases {{cases}} --quiet-seconds {{quiet:g}} --out docs/measuring.md`.

The test injects trouble with a known cause into a real viewer, at a known frame. A case is right if two conditions are
true: the injected trouble made at least one frame bad, and twixt names the right cause and part for *each* of these
bad frames. At least {ENOUGH:.0%} of the undisturbed cases must be right.

A case is *disturbed* if other programs or the host used the cores too much. The test reads this use from `/proc/stat`
and from the kernel's run delay of every thread. The time of a case is from {MARGIN_NS / 1e6:g} ms before the first frame that the
trouble can delay, to {MARGIN_NS / 1e6:g} ms after the last of these frames. A case is disturbed if the host took any time. A case is
also disturbed if other programs ran for more than {OTHERS_MS:g} ms while twixt waited for a core for more than {WAITED_MS:g} ms.

"""

CELLS = (
    "The first two numbers of a cell are the number of right undisturbed cases and the number of all undisturbed "
    "cases.\nThe numbers in brackets are the number of right cases and the number of all cases.\n\n"
)
QUIET = f"""In a quiet run, fewer than {MOST_BAD * 1000:g} in 1,000 undisturbed frames may be bad. A run is quiet if the host took no
time from it, and if the p99 of its wake error is below {QUIET_WAKE_US / 1000:g} ms. The test judges only quiet runs.
"""


def page(
    trials: dict[str, Trial], quiet: dict[str, Trial], conditions: list[str], asked: tuple[str, int, float]
) -> str:
    """Markdown of the part between the marker lines of docs/measuring.md. asked: displays, number of cases of each
    kind, seconds of quiet runs."""
    displays, count, quiet_s = asked
    failed = broken(trials, quiet, count)
    parts = [HEAD.format(displays=displays, cases=count, quiet=quiet_s)]
    if trials:
        parts += [CELLS, _cases(trials), "\n"]
    if quiet:
        parts += ["The next table has runs without injected trouble:\n\n", _quiet(quiet), "\n", QUIET, "\n"]
    parts += [f"- {line}\n" for line in [*conditions, *(_run(name, trial) for name, trial in trials.items())]]
    parts.append(
        "- every limit is met\n" if not failed else "".join(f"- **limit not met**: {line}\n" for line in failed)
    )
    return "".join(parts)


def broken(trials: dict[str, Trial], quiet: dict[str, Trial], count: int) -> list[str]:
    """A line for each limit that is not met. Fewer cases than asked for are one of the limits."""
    lines = []
    for display, trial in trials.items():
        for kind in KINDS:
            judged = of_kind(trial, kind)
            share = share_right(judged)
            if share is not None and share < ENOUGH:
                lines.append(
                    f"{display}, {INJECTED[kind]}: {share:.1%} of the cases are right, but at least {ENOUGH:.0%} must be right"
                )
            if len(judged) < count:
                lines.append(f"{display}, {INJECTED[kind]}: {len(judged)} cases, {count} were asked for")
    for display, trial in quiet.items():
        if _verdict(trial) == NOT_MET:
            lines.append(f"{display}: {len(trial.clear_bad)} of {trial.clear_frames} quiet frames are bad")
    return lines


MET, NOT_MET = "met", "**not met**"


def _verdict(trial: Trial) -> str:
    """Verdict on the limit of bad frames in a quiet run, or the reason why there is no verdict."""
    if len(trial.clear_bad) < MOST_BAD * max(1, trial.clear_frames):
        return MET
    if trial.steal_ms:
        return "not judged: the host took time"
    return NOT_MET if trial.wake_p99_us < QUIET_WAKE_US else "not judged: woken late"


def share_right(judged: list[Judged]) -> float | None:
    """Share of right cases among the undisturbed cases with bad frames. If all were disturbed, the share among these.
    None if there are no cases with bad frames."""
    named = [each for each in judged if not each.is_in_time]
    clear = [each for each in named if not each.lot.is_disturbed] or named
    return sum(each.is_right for each in clear) / len(clear) if clear else None


def of_kind(trial: Trial, kind: str) -> list[Judged]:
    """The trial's cases of that kind."""
    return [each for each in trial.judged if each.case.kind == kind]


def misnamed(trial: Trial) -> str:
    """Table of the cases that are not right, for a terminal; undisturbed cases first."""
    wrong = [each for each in trial.judged if not (each.is_right or each.is_in_time)]
    wrong.sort(key=lambda each: each.lot.is_disturbed)
    lines = [
        f"largest parts in ms: {', '.join(COST_NAMES)}",
        "| injected | place | frame | causes of bad frames | parts | disturbed | others ms, waited ms |",
        "|---|---|---|---|---|---|---|",
    ]
    for each in wrong:
        has_doing = each.case.kind in COST_NAMES
        place = each.case.place + (f", {'busy' if each.case.busy else 'asleep'}" if has_doing else "")
        parts = " ".join(f"{ms:g}" for ms in each.parts_ms)
        lot = f"{each.lot.others_ms:.0f}, {each.lot.waited_ms:.1f}"
        cells = (
            each.case.kind,
            place,
            each.frame,
            _counted(each.named),
            parts,
            "yes" if each.lot.is_disturbed else "no",
        )
        lines.append(f"| {' | '.join(map(str, cells))} | {lot} |")
    return "\n".join(lines) + "\n" if wrong else "no case was misnamed\n"


def _cases(trials: dict[str, Trial]) -> str:
    rows = [["injected", "expected cause", *trials], ["---"] * (2 + len(trials))]
    rows += [
        [INJECTED[kind], EXPECTED[kind], *(_cell(of_kind(trial, kind)) for trial in trials.values())] for kind in KINDS
    ]
    return _table(rows)


def _cell(judged: list[Judged]) -> str:
    named = [each for each in judged if not each.is_in_time]
    clear = [each for each in named if not each.lot.is_disturbed]
    in_time = len(judged) - len(named)
    return f"{_right(clear)} ({_right(named)})" + (f", {in_time} shown in time" if in_time else "")


def _right(judged: list[Judged]) -> str:
    return f"{sum(each.is_right for each in judged)} of {len(judged)}"


def _run(display: str, trial: Trial) -> str:
    return (
        f"{display}: {trial.frames} frames in {trial.seconds:.0f} s; other programs used {trial.others_share:.0%} of the "
        f"cores, the host took {trial.steal_ms:.0f} ms, and twixt waited for a core for {trial.waited_ms / 1e3:.1f} s"
    )


def _counted(names: Sequence[str]) -> str:
    return ", ".join(f"{names.count(name)} {name}" for name in dict.fromkeys(names))


def _quiet(quiet: dict[str, Trial]) -> str:
    rows = [
        [
            "display",
            "undisturbed frames",
            "bad undisturbed frames",
            "bad per 1,000 undisturbed",
            "limit",
            "all frames",
            "bad frames",
            "wake error p99",
        ],
        ["---", *["---:"] * 3, "---", *["---:"] * 3],
    ]
    for display, trial in quiet.items():
        clear, bad = (
            f"{len(names)}" + (f" ({_counted(names)})" if names else "") for names in (trial.clear_bad, trial.bad)
        )
        rows.append([
            display, f"{trial.clear_frames}", clear, f"{1e3 * len(trial.clear_bad) / max(1, trial.clear_frames):.2f}",
            _verdict(trial), f"{trial.frames}", bad, f"{trial.wake_p99_us:.0f} us",
        ])  # fmt: skip
    return _table(rows)


def _table(rows: list[list[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)

"""Which endings are right: for whatever happened to a process, the exit codes and words that may follow.

One idea: each thing that happened allows an ending. Several may have happened to one process in an order, and which
was first in effect is for the machine to say; so its ending must be one of those allowed, and each of its words too.

Pure: names of what happened in, a judgement out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tests.long.endings.own_loop import IMPORTED

LOST = r"physics ended unexpectedly"
ENDS_LOST = rf"twixt: the viewer ends, because {LOST}"
NOBODY = r'twixt: no simulation named "lab" is running.*'
LET_NOBODY_IN = r'twixt: the simulation "lab" cannot attach to the simulation .*'


class Ending(NamedTuple):
    """An exit code, as a shell calls it, and the line that must be said with it, None where none must."""

    code: int
    line: str | None = None


# What happened -> the endings it allows. "physics ..." is what became of the simulation that a viewer watched.
RUN = {
    "SIGKILL": [Ending(137)],
    "SIGTERM": [Ending(143)],
    "SIGINT": [Ending(130)],
    "viewer SIGKILL": [Ending(137, "twixt: the viewer was killed by SIGKILL, so the run ends")],
    # A viewer that has not come far enough to take the signal is killed by it.
    "viewer SIGTERM": [Ending(130), Ending(143, "twixt: the viewer was killed by SIGTERM, so the run ends")],
    "viewer SIGINT": [Ending(130), Ending(130, "twixt: the viewer was killed by SIGINT, so the run ends")],
    "close": [Ending(0)],
}
SIM = {name: RUN[name] for name in ("SIGKILL", "SIGTERM", "SIGINT")} | {"time over": [Ending(0)]}
# A user's own loop goes on without its viewer, whatever became of that, and ends when it is asked to.
DIED = (
    r"twixt: the viewer (was killed by SIG\w+|exited with code 130); the loop continues without it; "
    r"open a window with view\.reopen\(\), or in a terminal: twixt view lab"
)
LOOP = {
    "SIGKILL": [Ending(137)],
    "SIGTERM": [Ending(143)],
    "SIGINT": [Ending(130)],
    "close": [Ending(0), Ending(138)],  # before the script has come to listen for it, SIGUSR1 kills
}
VIEW = {
    "SIGKILL": [Ending(137)],
    "SIGTERM": [Ending(130), Ending(143)],
    "SIGINT": [Ending(130)],
    "close": [Ending(0)],
    "physics SIGKILL": [Ending(1, ENDS_LOST)],
    # What has not come far enough to take the signal, as a user's own script never does, is killed by it.
    "physics SIGTERM": [
        Ending(130, "twixt: the simulation was interrupted: the simulation was ended by SIGTERM"),
        Ending(1, ENDS_LOST),
    ],
    "physics SIGINT": [
        Ending(130, "twixt: the simulation was interrupted: (the simulation was ended with Ctrl-C|Ctrl-C)")
    ],
    "physics ended": [Ending(0, "twixt: the simulation ended: the simulation.*|twixt: the simulation ended")],
    "nobody there": [Ending(2, NOBODY), Ending(2, LET_NOBODY_IN)],
}
LIGHT = {
    "SIGKILL": [Ending(137)],
    "SIGTERM": [Ending(143)],
    "SIGINT": [Ending(130)],
    "close": [Ending(0, "left"), Ending(138)],
    "physics SIGKILL": [Ending(0, rf"ended lost: {LOST}")],
    "physics SIGTERM": [
        Ending(0, "ended interrupted: the simulation was ended by SIGTERM"),
        Ending(0, rf"ended lost: {LOST}"),
    ],
    "physics SIGINT": [Ending(0, "ended interrupted: (the simulation was ended with Ctrl-C|Ctrl-C)")],
    "physics ended": [Ending(0, "ended ended: .*")],
    "nobody there": [Ending(2, r"refused: (no simulation named|cannot attach to the simulation \"lab\").*")],
}
# Said by the viewer of a run, on the same stream as the run itself.
OWN_VIEWER = {"SIGKILL": [ENDS_LOST], "SIGTERM": [ENDS_LOST]}
ALL = {"run": RUN, "sim": SIM, "loop": LOOP, "view": VIEW, "light": LIGHT}
CHATTER = re.compile(rf"attached|{IMPORTED}|tick -?\d+|")  # an empty line ends that with a terminal's ^C
OURS = str(Path(__file__).parents[3])


def is_unborn(happened: Iterable[str], said: str) -> bool:
    """Ctrl-C came while Python itself was coming up, before the first line of any program: its own words and codes."""
    has_trace = "Traceback" in said or "Fatal Python error: init" in said
    return (
        (has_trace or said.strip() == "KeyboardInterrupt")
        and OURS not in said
        and bool({"SIGINT", "viewer SIGINT"} & set(happened))
    )


def is_dropped_by_python(happened: Iterable[str], said: str) -> bool:
    """Ctrl-C came in an import of the user's own script, in a callback of Python's, which drops what is raised there.

    Python says so where it does. After the line that the script says once it has `twixt`, it is a fault of ours: in
    all that is imported from there on Ctrl-C is noted.
    """
    before = said.partition(IMPORTED)[0]
    return "SIGINT" in set(happened) and "Exception ignored in" in before and "KeyboardInterrupt" in before


def wrong_with(role: str, happened: Iterable[str], code: int, said: str) -> str:
    """What is wrong with an ending; empty where nothing is.

    role: a key of `ALL`. happened: what happened to the process. code: as a shell calls it. said: all it said.
    """
    happened = set(happened)
    if role == "loop" and "SIGINT" in happened:
        return ""  # what Python and numpy say in a script of the user's own is between them
    if is_unborn(happened, said):
        return ""
    allowed = [ending for what in sorted(happened) for ending in ALL[role].get(what, [])]
    lines = [line for line in said.splitlines() if not CHATTER.fullmatch(line)]
    known = [ending.line for ending in allowed if ending.line]
    if role in ("run", "loop"):
        known += [line for what in happened for line in OWN_VIEWER.get(what, [])]
    if role == "loop":
        known.append(DIED)
    stray = [line for line in lines if not any(re.fullmatch(pattern, line) for pattern in known)]
    if stray:
        return f"wrong words {stray}"
    if len(lines) > len(set(lines)):
        return f"said twice: {lines}"
    fitting = [ending for ending in allowed if ending.code == code]
    if not fitting:
        return f"exit code {code}, where {sorted({ending.code for ending in allowed})} would be right"
    if not any(ending.line is None or any(re.fullmatch(ending.line, line) for line in lines) for ending in fitting):
        return f"exit code {code} without a word; it said {lines}"
    return ""

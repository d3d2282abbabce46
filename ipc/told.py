"""What a simulation says of itself, checked where it arrives: whoever shows it need not look again.

The one idea: names that a viewer acts on have a rule each; anything else a simulation says is passed on as it is.

Always: what is returned is a dict of the types that `sim.status` has, its numbers fit 64 bits; WireError for the rest.
Asks nothing of who said it, keeps nothing.
"""

from __future__ import annotations

import math
import os
from typing import Any

from twixt.ipc.troubles import FIELDS, breaks_rule
from twixt.ipc.users_code import CODE_FOLDERS, MOST_FOLDERS
from twixt.ipc.wire import WireError

NUMBERS = ("tick", "rate", "time_scale", "dt_ms", "step_ms", "lead_ms", "step_multiple", "late", "dropped", "lost")
TEXTS = ("world", "warning", "step_reason")
TROUBLES = ("trouble", "trouble_asked")
# A text for people that is longer says nothing more.
LONGEST_TEXT = 4000


def status(said: Any) -> dict[str, Any]:
    """A status. Nothing at all is an empty one."""
    told = _named("status", said)
    for name in NUMBERS:
        if name in told and not (_is_number(told[name]) and math.isfinite(told[name])):
            raise _wrong(f"status.{name}", "a finite number", told[name])
    if told.get("time_scale", 1) <= 0:
        raise _wrong("status.time_scale", "> 0", told["time_scale"])
    for name in TEXTS:
        if name in told and not isinstance(told[name], str):
            raise _wrong(f"status.{name}", "a text", told[name])
    for name, value in _named("diagnostics", told.get("diagnostics")).items():
        if not _is_number(value):
            raise _wrong(f"the diagnostic {name[:40]!r}", "a number", value)
    for figures in (told, *(_named(name, told.get(name)) for name in TROUBLES)):
        for kind, name in FIELDS.items():
            if breaks_rule(kind, figures.get(name)):
                raise _wrong(f"status.{name}", "figures of that trouble", figures[name])
    return {name: value for name, value in told.items() if value is not None or name not in ("diagnostics", *TROUBLES)}


def description(said: Any) -> dict[str, Any]:
    """What it said when the viewer attached."""
    told = _named("description", said)
    folders = told.get(CODE_FOLDERS, [])
    if not (isinstance(folders, list) and len(folders) <= MOST_FOLDERS and all(map(_is_folder, folders))):
        raise _wrong(f"description.{CODE_FOLDERS}", f"a list of at most {MOST_FOLDERS} absolute paths", folders)
    return told


def blocks(said: Any) -> dict[str, dict[str, Any]] | None:
    """The report's blocks: figures by name, or distributions of them. None: it has none."""
    if said is None:
        return None
    told = {name: _named(f"the block {name[:40]}", block) for name, block in _named("report", said).items()}
    for block in told.values():
        for name, value in block.items():
            for figure in value.values() if isinstance(value, dict) else [value]:
                if not (figure is None or isinstance(figure, str | bool) or _is_number(figure)):
                    raise _wrong(f"the figure {name[:40]!r}", "a number, a text, null, or some of them by name", figure)
    return told


def text(said: Any) -> str:
    """Words for people; none for what is no text."""
    return said[:LONGEST_TEXT] if isinstance(said, str) else ""


def _named(what: str, said: Any) -> dict[str, Any]:
    if said is None:
        return {}
    if not isinstance(said, dict):
        raise _wrong(what, "values by name", said)
    return said


def _is_folder(value: Any) -> bool:
    return isinstance(value, str) and os.path.isabs(value) and "\0" not in value


def _is_number(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63)


def _wrong(what: str, rule: str, got: Any) -> WireError:
    shown = repr(got)[:40] if isinstance(got, str | int | float | None) else f"a {type(got).__name__}"
    return WireError(f"the simulation said {what} as {shown}, which must be {rule}; restart it")

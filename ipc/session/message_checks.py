"""Validates status and report messages of a simulation on arrival.

The one idea: each name that a viewer acts on has a rule; other values of a simulation are passed on as they are.

Always: a name with a rule has a value of the type that physics sends, and its integers fit 64 bits; any other value
raises WireError. A text that is displayed has at most `LONGEST_TEXT` characters. Stateless.
"""

from __future__ import annotations

import math
import os
from typing import Any

from twixt.ipc.config.troubles import FIELDS, breaks_rule
from twixt.ipc.errors import TwixtError
from twixt.ipc.interaction import world_controls
from twixt.ipc.interaction.overlay_texts import OverlayText, from_message
from twixt.ipc.process.user_code import CODE_FOLDERS, MOST_FOLDERS
from twixt.ipc.session.wire import WireError

NUMBERS = ("tick", "rate", "time_scale", "dt_ms", "step_ms", "lead_ms", "step_multiple", "late", "dropped", "lost")
TEXTS = ("world", "warning", "step_reason")
TROUBLES = ("trouble", "trouble_asked")
# Longest text that is displayed, in characters: what follows is cut off.
LONGEST_TEXT = 4000


def status(value: Any) -> dict[str, Any]:
    """Check a status message and return its fields; None gives an empty dict. Raises WireError."""
    fields = dict(_named("status", value))
    for name in NUMBERS:
        if name in fields and not (_is_number(fields[name]) and math.isfinite(fields[name])):
            raise _wrong(f"status.{name}", "a finite number", fields[name])
    if fields.get("time_scale", 1) <= 0:
        raise _wrong("status.time_scale", "> 0", fields["time_scale"])
    for name in TEXTS:
        if name in fields and not isinstance(fields[name], str):
            raise _wrong(f"status.{name}", "a text", fields[name])
        if name in fields:
            fields[name] = text(fields[name])
    if "texts" in fields:
        fields["texts"] = _texts(fields["texts"])
    diagnostics = _named("diagnostics", fields.get("diagnostics"))
    for name, value in diagnostics.items():
        if not _is_number(value):
            raise _wrong(f"the diagnostic {name[:40]!r}", "a number", value)
    if diagnostics:
        fields["diagnostics"] = {text(name): value for name, value in diagnostics.items()}
    if "controls" in fields and not world_controls.is_status(fields["controls"]):
        raise _wrong("status.controls", "a list of kind, name, value, low, high, fold", fields["controls"])
    for figures in (fields, *(_named(name, fields.get(name)) for name in TROUBLES)):
        for kind, name in FIELDS.items():
            if breaks_rule(kind, figures.get(name)):
                raise _wrong(f"status.{name}", "figures of that trouble", figures[name])
    return {
        name: value for name, value in fields.items() if value is not None or name not in ("diagnostics", *TROUBLES)
    }


def description(value: Any) -> dict[str, Any]:
    """Check the description that a viewer receives when it attaches. Raises WireError."""
    fields = _named("description", value)
    folders = fields.get(CODE_FOLDERS, [])
    if not (isinstance(folders, list) and len(folders) <= MOST_FOLDERS and all(map(_is_folder, folders))):
        raise _wrong(f"description.{CODE_FOLDERS}", f"a list of at most {MOST_FOLDERS} absolute paths", folders)
    return fields


def blocks(value: Any) -> dict[str, dict[str, Any]] | None:
    """Check the report's blocks: name -> figures by name, each a value or a distribution. None stays None. Raises
    WireError."""
    if value is None:
        return None
    fields = {name: _named(f"the block {name[:40]}", block) for name, block in _named("report", value).items()}
    return {
        text(name): {text(key): _figure(key, figure) for key, figure in block.items()} for name, block in fields.items()
    }


def text(value: Any) -> str:
    """A text to display, cut to `LONGEST_TEXT` characters; empty where the value is not text."""
    return value[:LONGEST_TEXT] if isinstance(value, str) else ""


def _texts(value: Any) -> tuple[OverlayText, ...]:
    try:
        return from_message(value)
    except TwixtError as error:
        raise WireError(f"the simulation said status.texts that cannot be shown ({error}); restart it") from error


def _figure(name: str, value: Any) -> Any:
    """A figure of a block, or several by name; texts are cut."""
    if isinstance(value, dict):
        return {text(part): _single_figure(name, figure) for part, figure in value.items()}
    return _single_figure(name, value)


def _single_figure(name: str, value: Any) -> Any:
    if isinstance(value, str):
        return text(value)
    if value is None or isinstance(value, bool) or _is_number(value):
        return value
    raise _wrong(f"the figure {name[:40]!r}", "a number, a text, null, or some of them by name", value)


def _named(what: str, value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _wrong(what, "values by name", value)
    return value


def _is_folder(value: Any) -> bool:
    return isinstance(value, str) and os.path.isabs(value) and "\0" not in value


def _is_number(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63)


def _wrong(what: str, rule: str, got: Any) -> WireError:
    shown = repr(got)[:40] if isinstance(got, str | int | float | None) else f"a {type(got).__name__}"
    return WireError(f"the simulation said {what} as {shown}, which must be {rule}; restart it")

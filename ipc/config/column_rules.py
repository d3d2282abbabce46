"""Names of the rules by which a user's column is blended: `linear`, `angle`, `none`, or a reference to a function.

A rule is one of `RULES`, or `module:function` for one of the user's, called with (old, new, alpha).
Imports neither numpy nor the user's module: the configuration is checked by these rules before they are imported.
"""

from __future__ import annotations

from typing import Any

from twixt.ipc.errors import text_of

# linear: on a straight line from old to new. angle: radians, along the shorter arc. none: the older value until the
# newer snapshot's instant. latest: the newest published value at once.
RULES = ("linear", "angle", "none", "latest")
# Names of columns with a fixed meaning in drawing: the scale of each body, or part, along its own x, y and z; and, as part
# columns alone, each part's colour and whether it is drawn.
SCALE3 = "scale3"
COLOR, VISIBLE_PARTS = "color", "visible"
DRAWN_PARTS = (COLOR, SCALE3, VISIBLE_PARTS)


def is_reference(text: Any) -> bool:
    """True if `text` is written module:name, such as my_rules:ease."""
    if not isinstance(text, str):
        return False
    module, _, name = text.partition(":")
    return name.isidentifier() and all(part.isidentifier() for part in module.split("."))


def is_rule(rule: Any) -> bool:
    """True if `rule` is one of `RULES` or a reference."""
    return isinstance(rule, str) and (rule in RULES or is_reference(rule))


def unknown_rule(column: str, rule: Any) -> str:
    """Error text for an unknown `rule`."""
    return (
        f"the rule of column {column!r} must be one of {', '.join(RULES)}, or module:function "
        f"for one of your own, got {text_of(rule)}"
    )

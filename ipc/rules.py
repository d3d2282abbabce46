"""How a column of the user's own is blended between two snapshots, by name: what crosses is always a text.

A rule is one of `RULES`, or `module:function` for one of the user's, called with (old, new, alpha).
Knows no numpy and imports nobody's module: whoever blends does.
"""

from __future__ import annotations

from typing import Any

# linear: straight from old to new. angle: radians, the short way round. none: the older value until the newer
# snapshot's instant. latest: the newest published value at once.
RULES = ("linear", "angle", "none", "latest")
# The one column that drawing knows by its name: each body's scale along its own x, y and z.
SCALE3 = "scale3"


def is_reference(text: Any) -> bool:
    """Whether `text` is written module:name, such as my_rules:ease."""
    if not isinstance(text, str):
        return False
    module, _, name = text.partition(":")
    return name.isidentifier() and all(part.isidentifier() for part in module.split("."))


def is_rule(rule: Any) -> bool:
    """Whether `rule` says how a column is blended."""
    return rule in RULES or is_reference(rule)


def say_rules(column: str, rule: Any) -> str:
    """What to say of a `rule` that is none."""
    return (
        f"the rule of column {column!r} must be one of {', '.join(RULES)}, or module:function "
        f"for one of your own, got {rule!r}"
    )

"""Which texts name a rule by which a column is blended."""

from __future__ import annotations

from typing import Any

import pytest

from twixt.ipc.config.rules import RULES, is_reference, is_rule, unknown_rule


@pytest.mark.parametrize("text", ["my_rules:ease", "my.rules:ease", "a.b.c:d"])
def test_module_and_function_are_a_reference_and_a_rule(text: str) -> None:
    assert is_reference(text)
    assert is_rule(text)


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_of_our_own_needs_no_module(rule: str) -> None:
    assert is_rule(rule)
    assert not is_reference(rule)


@pytest.mark.parametrize(
    "rule",
    [
        "",
        ":",
        "ease",
        "my_rules:",
        ":ease",
        "my rules:ease",
        "my:rules:ease",
        "my..rules:ease",
        "a:b.c",
        None,
        5,
        b"a:b",
    ],
)
def test_what_is_no_such_text_is_no_rule_and_is_said_with_what_would_be(rule: Any) -> None:
    assert is_reference(rule) is False
    assert is_rule(rule) is False
    assert unknown_rule("heat", rule) == (
        f"the rule of column 'heat' must be one of linear, angle, none, latest, or your own module:function, got {rule!r}"
    )

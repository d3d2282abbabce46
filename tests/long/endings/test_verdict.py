"""What counts as a fault of ours, and what Python alone has done."""

from __future__ import annotations

import pytest

from tests.long.endings.own_loop import IMPORTED
from tests.long.endings.verdict import is_dropped_by_python

DROPPED = """Exception ignored in: <function _get_module_lock.<locals>.cb at 0x7f0>
Traceback (most recent call last):
  File "<frozen importlib._bootstrap>", line 198, in cb
KeyboardInterrupt:
"""


@pytest.mark.parametrize(
    ("happened", "said", "is_pythons"),
    [
        ({"SIGINT"}, DROPPED, True),
        ({"SIGINT"}, f"{DROPPED}{IMPORTED}\n", True),
        ({"SIGINT"}, f"{IMPORTED}\n{DROPPED}", False),  # in an import of ours, which has to notice
        ({"SIGINT"}, f"{IMPORTED}\n", False),
        ({"SIGINT"}, "", False),
        ({"SIGTERM"}, DROPPED, False),
    ],
)
def test_a_dropped_ctrl_c_is_pythons_alone_only_before_the_script_has_twixt(
    happened: set[str], said: str, is_pythons: bool
) -> None:
    assert is_dropped_by_python(happened, said) == is_pythons

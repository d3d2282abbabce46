"""All of the channel under one roof, loaded when it is asked for."""

from __future__ import annotations

import pytest

from twixt.ipc import session
from twixt.ipc.session import host, link


@pytest.mark.parametrize(
    ("name", "home"), [("Host", host.Host), ("Link", link.Link), ("Ended", link.Ended), ("attach", link.attach)]
)
def test_what_is_loaded_late_is_found_here_and_kept(name: str, home: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(vars(session), name, raising=False)
    assert getattr(session, name) is home
    assert vars(session)[name] is home


def test_what_is_not_there_is_said_as_of_any_module() -> None:
    with pytest.raises(AttributeError, match=r"module 'twixt\.ipc\.session' has no attribute 'window'"):
        session.window  # noqa: B018

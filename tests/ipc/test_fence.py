"""The fence itself. That it orders other processes' view of memory is raced in test_ring."""

from __future__ import annotations

import threading

import pytest

from twixt.ipc.fence import make_fence


def test_a_fence_never_blocks_its_own_thread():
    fence = make_fence()
    for _ in range(1000):
        fence()


def test_a_fence_releases_before_it_acquires(monkeypatch: pytest.MonkeyPatch):
    calls: list[str] = []

    class Lock:
        def acquire(self) -> None:
            calls.append("acquire")

        def release(self) -> None:
            calls.append("release")

    monkeypatch.setattr(threading, "Lock", Lock)
    fence = make_fence()
    assert calls == ["acquire"]
    fence()
    assert calls == ["acquire", "release", "acquire"]


def test_a_fence_interrupted_in_its_middle_is_a_fence_again(monkeypatch: pytest.MonkeyPatch):
    made: list[threading.Lock] = []
    real = threading.Lock
    monkeypatch.setattr(threading, "Lock", lambda: made.append(real()) or made[-1])
    fence = make_fence()
    made[0].release()  # as Ctrl-C between release and acquire leaves it
    fence()
    assert made[0].locked()
    fence()
    assert made[0].locked()


def test_each_fence_has_a_lock_of_its_own():
    first, second = make_fence(), make_fence()
    ended = threading.Event()

    def run() -> None:
        for _ in range(2000):
            second()
        ended.set()

    threading.Thread(target=run, daemon=True).start()
    for _ in range(2000):
        first()
    assert ended.wait(30)

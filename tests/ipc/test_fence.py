"""The fence itself. That it orders other processes' view of memory is raced in test_ring."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from twixt.ipc.fence import make_fence

# A thread that has not come through so long never will.
PATIENCE_S = 30


def test_a_fence_never_blocks_its_own_thread():
    fence = make_fence()
    assert comes_through(lambda: [fence() for _ in range(1000)])


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
    for _ in range(2):
        assert comes_through(fence)
        assert made[0].locked()


def test_each_fence_has_a_lock_of_its_own():
    fences = [make_fence(), make_fence()]
    threads = [
        threading.Thread(target=lambda fence=fence: [fence() for _ in range(2000)], daemon=True) for fence in fences
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert not any(thread.is_alive() for thread in threads)


def comes_through(action: Callable[[], object]) -> bool:
    thread = threading.Thread(target=action, daemon=True)
    thread.start()
    thread.join(PATIENCE_S)
    return not thread.is_alive()

"""How many threads draw where a processor draws."""

from __future__ import annotations

import os

import pytest

from twixt.render.draw.frame.context import drawing_threads, draws_in_threads, prepare_driver


@pytest.mark.parametrize(("cores", "threads"), [(1, 0), (2, 0), (3, 2), (16, 15)])
def test_one_core_is_left_and_a_single_thread_is_the_caller_itself(cores: int, threads: int) -> None:
    assert drawing_threads(cores) == threads


def test_what_the_user_chose_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LP_NUM_THREADS", "3")
    prepare_driver()
    assert os.environ["LP_NUM_THREADS"] == "3"


def test_software_draws_in_threads_unless_it_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LP_NUM_THREADS", "3")
    assert draws_in_threads("llvmpipe (LLVM 15.0.6, 256 bits)")
    assert not draws_in_threads("NVIDIA H200/PCIe/SSE2")
    monkeypatch.setenv("LP_NUM_THREADS", "0")
    assert not draws_in_threads("llvmpipe (LLVM 15.0.6, 256 bits)")

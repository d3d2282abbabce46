"""Step logs: written, read again, and damaged in many ways."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.full_disk import no_file_larger_than
from twixt.ipc.errors import TwixtError
from twixt.sim.schedule import step_multiple
from twixt.sim.schedule.step_multiple import (
    HEADER,
    WRITTEN_EVERY,
    DtLog,
    Origin,
    ReplayedSteps,
    check_origin,
    read_dt_log,
)

ORIGIN = Origin("balls", 3, 1 / 60, (("count", "500"),))
GOOD = f"{HEADER}\nworld balls\nseed 3\ndt 0.016666666666666666\nset count=500\n120 1\n35 4\nend 155\n"
HEAD = "\n".join([HEADER, *ORIGIN.lines()]) + "\n"


def written(path: Path, multiples: list[int]) -> str:
    log = DtLog(str(path), ORIGIN)
    for multiple in multiples:
        log.stepped(multiple)
    log.close()
    log.close()
    return path.read_text()


def test_it_is_plain_text_that_says_what_was_stepped(tmp_path: Path) -> None:
    assert written(tmp_path / "log", [1] * 120 + [4] * 35) == GOOD


@given(multiples=st.lists(st.integers(1, 6), min_size=1, max_size=800))
def test_what_was_written_is_always_read_again(tmp_path_factory: pytest.TempPathFactory, multiples: list[int]) -> None:
    path = tmp_path_factory.getbasetemp() / "dt.log"
    written(path, multiples)
    log = read_dt_log(str(path))
    assert list(log.multiples) == multiples
    assert log.has_end
    check_origin(str(path), log, ORIGIN)


def test_a_run_that_is_killed_leaves_a_log_up_to_a_few_seconds_before(tmp_path: Path) -> None:
    path = tmp_path / "log"
    log = DtLog(str(path), ORIGIN)
    for _ in range(3 * WRITTEN_EVERY + 5):
        log.stepped(2)
    found = read_dt_log(str(path))
    assert list(found.multiples) == [2] * (3 * WRITTEN_EVERY)
    assert not found.has_end
    log.close()


def test_a_world_that_begins_again_begins_its_log_again(tmp_path: Path) -> None:
    path = tmp_path / "log"
    log = DtLog(str(path), ORIGIN)
    for _ in range(1000):
        log.stepped(3)
    log.begin()
    log.stepped(1)
    log.close()
    assert list(read_dt_log(str(path)).multiples) == [1]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", r"must begin with 'twixt dt log 1', got ''"),
        ("twixt dt log 2\n", "must begin with"),
        ("Frame,Time\n1,2\n", "must begin with"),
        (GOOD.replace("120 1", "120"), "damaged in line 6: it must be STEPS MULTIPLE"),
        (GOOD.replace("35 4", "35 0"), "damaged in line 7"),
        (GOOD.replace("35 4", "-35 4"), "damaged in line 7"),
        (GOOD.replace("35 4", "35 4.5"), "damaged in line 7"),
        (GOOD.replace("35 4", "35 4\n\n"), "damaged in line 8"),
        (GOOD.replace("35 4", "35 99999999"), "damaged in line 7"),
        (GOOD.replace("35 4", "99999999999 4"), "damaged in line 7"),
        (GOOD.replace("35 4", "٣٥ 4"), "damaged in line 7"),
        (GOOD.replace("end 155", "end 154"), "damaged in line 8: it must be the number of steps, 155, got '154'"),
        (GOOD.replace("35 4\n", ""), "damaged in line 7: it must be the number of steps, 120"),
        (GOOD + "1 1\n", "damaged in line 9: no line may follow the end line"),
        (GOOD[: GOOD.index("35 4") + 3], "damaged in line 7: the line is cut off"),
        (GOOD[: GOOD.index("120 1")], "contains no steps"),
    ],
)
def test_what_is_damaged_is_refused_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "log"
    path.write_text(text)
    with pytest.raises(TwixtError, match=says):
        read_dt_log(str(path))


def test_a_file_that_cannot_be_read_or_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(TwixtError, match=r"cannot read .* \(No such file or directory\); name a file that"):
        read_dt_log(str(tmp_path / "nowhere"))
    (tmp_path / "picture").write_bytes(b"\x89PNG\xff\xfe")
    with pytest.raises(TwixtError, match="it is not text"):
        read_dt_log(str(tmp_path / "picture"))
    with pytest.raises(TwixtError, match="cannot write --dt-log .*; name another file"):
        DtLog(str(tmp_path / "no" / "folder"), ORIGIN)


@pytest.mark.parametrize("room", range(len(HEAD), len(HEAD) + 22, 3))
def test_a_disk_that_fills_ends_the_log_with_a_whole_line_and_not_the_world(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], room: int
) -> None:
    path = tmp_path / "log"
    with no_file_larger_than(room):
        log = DtLog(str(path), ORIGIN)
        for step in range(40):
            log.stepped(1 + step // 10)
        log.close()
    lines = ["10 1", "10 2", "10 3", "10 4"]
    held = (room - len(HEAD)) // len("10 1\n")
    assert path.read_text() == HEAD + "".join(f"{line}\n" for line in lines[:held])
    if held:
        assert len(read_dt_log(str(path)).multiples) == 10 * held
    said = capsys.readouterr().err
    assert said.startswith(f"twixt: --dt-log {str(path)!r} ends after step {10 * held}: ")
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (Origin("verlet", 3, 1 / 60, ORIGIN.settings), "with 'world balls', but this run has 'world verlet'"),
        (Origin("balls", 4, 1 / 60, ORIGIN.settings), "with 'seed 3', but this run has 'seed 4'"),
        (Origin("balls", 3, 1 / 50, ORIGIN.settings), "but this run has 'dt 0.02'"),
        (Origin("balls", 3, 1 / 60, (("count", "5"),)), "but this run has 'set count=5'"),
        (Origin("balls", 3, 1 / 60), "with 'set count=500', but this run has ''"),
        (Origin("balls", 3, 1 / 60, (*ORIGIN.settings, ("a", "1"))), "with '', but this run has 'set a=1'"),
    ],
)
def test_the_log_of_another_run_is_refused(tmp_path: Path, other: Origin, says: str) -> None:
    path = tmp_path / "log"
    path.write_text(GOOD)
    with pytest.raises(TwixtError, match=says):
        check_origin(str(path), read_dt_log(str(path)), other)


def test_a_replay_gives_the_steps_in_order_ends_and_begins_again_with_the_world() -> None:
    replay = ReplayedSteps([1, 4, 2])
    for _ in range(2):
        seen = []
        while not replay.is_over:
            seen.append(replay.multiple)
            assert replay.most == replay.multiple
            replay.stepped(10**12, 1.0)
        assert seen == [1, 4, 2]
        assert replay.multiple == 2
        replay.reset()


def test_a_file_without_end_is_refused_by_its_first_line(tmp_path: Path) -> None:
    path = tmp_path / "zeros"
    with open(path, "wb") as file:
        file.truncate(1 << 34)  # sparse: takes no disk space; must not be read whole
    with pytest.raises(TwixtError, match="must begin with"):
        read_dt_log(str(path))


def test_a_log_longer_than_any_is_not_taken_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_multiple, "MOST_CHARACTERS", 100)
    path = tmp_path / "long"
    path.write_text(f"{HEADER}\n" + "1 1\n" * 100)
    with pytest.raises(TwixtError, match="too long for a step log"):
        read_dt_log(str(path))

"""The frame log and its file."""

import csv
import json
import os
import re
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.render.measure.runs import MS, START_NS, even, frame, shown_at
from tests.render.measure.test_frame_rows import KINDS
from twixt.ipc.errors import TwixtError
from twixt.render.measure.frame_log import HEADER, HELD_BACK, LIMITS, MOST_REFRESHES, FrameLog, read_log
from twixt.render.measure.frame_rows import KIND_OF, LATER_FIELDS, FrameRow
from twixt.render.measure.report import report_log

any_run_row = st.builds(
    FrameRow,
    **{
        name: KINDS[kind] if kind is not int or name not in LIMITS else st.integers(*LIMITS[name])
        for name, kind in KIND_OF.items()
    },
)


def written(path, rows) -> FrameLog:
    log = FrameLog(str(path))
    for row in rows:
        log.add(row)
    log.close()
    return log


@given(rows=st.lists(any_run_row, max_size=4))
@settings(deadline=None, max_examples=40)
def test_a_log_always_reads_back_as_it_was_written(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("log") / "run.csv"
    written(path, rows)
    assert list(read_log(path)) == rows


def test_the_columns_begin_with_those_of_presentmon_1_10_and_carry_its_units(tmp_path):
    path = tmp_path / "run.csv"
    written(path, [frame(0, START_NS, 0), frame(1, START_NS + 17 * MS, 17 * MS, planned_refreshes=1)])
    with open(path, newline="") as file:
        lines = list(csv.reader(file))
    assert ",".join(lines[0]).startswith(
        "Application,ProcessID,SwapChainAddress,Runtime,SyncInterval,PresentFlags,Dropped,TimeInSeconds,"
        "msInPresentAPI,msBetweenPresents,AllowsTearing,PresentMode,msUntilRenderComplete,msUntilDisplayed,"
        "msBetweenDisplayChange,frame,start_ns,"
    )
    first, second = (dict(zip(lines[0], line, strict=True)) for line in lines[1:])
    assert second["Application"] == "twixt"
    assert int(second["ProcessID"]) == os.getpid()
    assert second["SyncInterval"] == "1"
    assert second["Dropped"] == "0"
    assert float(second["TimeInSeconds"]) == pytest.approx(0.017)
    assert float(second["msInPresentAPI"]) == pytest.approx(1.0)
    assert float(second["msBetweenPresents"]) == pytest.approx(17.0)
    assert float(second["msBetweenDisplayChange"]) == pytest.approx(17.0)
    assert float(second["cpu_ms"]) == pytest.approx(4.0)
    assert float(second["sim_to_present_ms"]) == pytest.approx(8.0)
    assert first["msBetweenPresents"] == first["gpu_ns"] == "NA"


def test_ages_of_a_frame_that_drew_nothing_are_missing_and_not_zero(tmp_path):
    path = tmp_path / "run.csv"
    written(path, [FrameRow(mode="none", present_ns=START_NS)])
    with open(path, newline="") as file:
        row = next(csv.DictReader(file))
    assert row["sample_age_ms"] == row["sim_to_present_ms"] == row["newest_age_ms"] == "NA"


def test_memory_keeps_the_newest_rows_and_counts_those_it_forgot():
    log = FrameLog(None, kept_frames=8)
    for row in even(20):
        log.add(row)
    assert [row.frame for row in log.rows] == list(range(12, 20))
    assert log.forgotten == 12
    assert log.count == 20


def test_rows_taken_out_keep_their_words_while_the_log_goes_on_and_memory_keeps_no_others():
    log = FrameLog(None, kept_frames=8)
    for row in even(20):
        log.add(row._replace(clock_reason=f"reason {row.frame}"))
    rows = log.rows
    for row in even(20):
        log.add(row._replace(clock_reason=f"other {row.frame}"))
    assert [row.clock_reason for row in rows] == [f"reason {number}" for number in range(12, 20)]
    assert [row.clock_reason for row in log.rows] == [f"other {number}" for number in range(12, 20)]
    assert len(log._words.texts) < 8 + 10


def test_the_file_has_every_row_in_order_though_memory_keeps_few(tmp_path):
    path = tmp_path / "run.csv"
    log = FrameLog(str(path), kept_frames=8)
    for row in even(50):
        log.add(row)
    log.close()
    log.close()
    assert [row.frame for row in read_log(path)] == list(range(50))


def test_time_to_spare_brings_rows_to_the_file_a_few_at_a_time(tmp_path):
    log = FrameLog(str(tmp_path / "run.csv"))
    for row in even(10):
        log.add(row)
    log.write_some(3)
    assert log._written == 3
    log.write_some()
    assert log._written == 7
    log.close()
    assert len(read_log(tmp_path / "run.csv")) == 10


def test_rows_in_memory_stay_after_the_file_is_closed(tmp_path):
    assert len(written(tmp_path / "run.csv", even(5)).rows) == 5


def test_a_line_cut_by_a_kill_is_left_out(tmp_path):
    path = tmp_path / "run.csv"
    written(path, even(3))
    text = path.read_text()
    path.write_text(text[: text.rindex("interpolated")])
    assert [row.frame for row in read_log(path)] == [0, 1]


def test_columns_that_are_not_ours_are_passed_over(tmp_path):
    path = tmp_path / "run.csv"
    written(path, even(2))
    header, *lines = path.read_bytes().decode().splitlines()
    path.write_text("\n".join([f"mine,{header}", *(f"x,{line}" for line in lines)]) + "\n")
    assert list(read_log(path)) == even(2)


def test_an_older_log_reads_back_with_defaults_for_the_columns_that_it_lacks(tmp_path):
    path = tmp_path / "run.csv"
    written(path, [row._replace(swap_end_ns=row.present_ns, draw_ns=5, quality="high") for row in even(3)])
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    with open(path, "w", newline="") as file:
        lines = csv.DictWriter(file, [name for name in HEADER if name not in LATER_FIELDS], extrasaction="ignore")
        lines.writeheader()
        lines.writerows(rows)
    assert list(read_log(path)) == even(3)


def test_the_displays_own_word_reaches_its_row_in_memory_and_in_the_file(tmp_path):
    log = FrameLog(str(tmp_path / "run.csv"))
    rows = even(40)
    for row in rows:
        log.add(row)
        log.write_some()
        if row.frame >= 3:
            log.display_reported(row.frame - 3, rows[row.frame - 3].present_ns + MS, f"word {row.frame}")
    log.display_reported(-1, START_NS)
    log.display_reported(40, START_NS)
    assert log._written == 40 - HELD_BACK
    log.close()
    for kept in (log.rows, read_log(tmp_path / "run.csv")):
        is_reported = list(kept)
        # the first rows were in the file before the display said its first word
        assert [row.present_ns for row in is_reported[4:37]] == [row.present_ns + MS for row in rows[4:37]]
        assert is_reported[36].display_present_ns == rows[36].present_ns + MS
        assert (is_reported[36].present_flags, is_reported[36].present_source) == ("word 39", "display")
        assert is_reported[37:] == rows[37:]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="skipped: no /dev/full")
def test_a_full_disk_ends_the_file_and_not_the_picture():
    log = FrameLog("/dev/full")
    for row in even(2000):
        log.add(row)
        log.write_some()
    log.close()
    assert "No space left" in log.failure
    assert len(log.rows) == 2000


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "cannot read the frame log .*; write one with: twixt run --log FILE.csv"),
        ("", "lacks the column 'frame'"),
        ("Application,ProcessID\nx,1\n", "lacks the column 'frame'"),
        ("\xff\xfe", "is not a frame log|it is not text"),
    ],
)
def test_a_file_that_is_no_log_is_refused_with_the_way_out(tmp_path, text, says):
    path = tmp_path / "other.csv"
    if text is not None:
        path.write_bytes(text.encode("latin-1"))
    with pytest.raises(TwixtError, match=says):
        read_log(path)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda lines: [*lines[:2], lines[2].replace(f",{even(2)[1].present_ns},", ",1e30,"), *lines[3:]], "line 3: .*1e30"),
        (lambda lines: [*lines[:2], lines[2].replace(f",{even(2)[1].present_ns},", f",{10**30},"), *lines[3:]], "line 3: present_ns must be from .* got '1000"),
        (lambda lines: [*lines[:2], lines[2][:80], *lines[3:]], "line 3: it is cut off"),
        (lambda lines: [*lines[:3], lines[3] + ",7", *lines[4:]], f"line 4: it has {len(HEADER) + 1} values, the header {len(HEADER)}"),
        (lambda lines: [lines[0] + ",present_ns", *(line + ",1" for line in lines[1:])], "line 1: the column 'present_ns' occurs twice"),
        (lambda lines: [lines[0].replace("present_ns", "presented_ns"), *lines[1:]], "lacks the column 'present_ns'"),
        (lambda lines: [*lines[:2], lines[2].replace("interpolated", "x" * 10**6), *lines[3:]], "line 3: it has 65536 characters or more"),
        (lambda lines: [*lines[:2], "\0" * 10**6, *lines[3:]], "line 3: it has 65536 characters"),
        (lambda lines: [*lines[:2], lines[2].replace("0", "\0"), *lines[3:]], "line 3: "),
        (lambda lines: [*lines[:2], '"' + lines[2], *lines[3:], *["x" * 60_000] * 5], "line 9: field larger"),
    ],
    ids=range(10),
)  # fmt: skip
def test_what_no_run_writes_is_refused_with_its_line(tmp_path, spoil, says):
    path = tmp_path / "run.csv"
    written(path, even(5))
    path.write_text("\n".join(spoil(path.read_text().splitlines())))
    with pytest.raises(TwixtError, match=says):
        read_log(path)


def test_an_empty_line_is_no_row(tmp_path):
    path = tmp_path / "run.csv"
    written(path, even(3))
    path.write_text(path.read_text().replace("\n", "\n\n"))
    assert list(read_log(path)) == even(3)


def test_a_line_without_an_end_is_not_read_whole(tmp_path):
    """A file of any length without a line in it takes no memory."""
    path = tmp_path / "run.csv"
    with open(path, "wb") as file:
        file.truncate(1 << 34)  # no disk either
    tracemalloc.start()
    with pytest.raises(TwixtError, match="line 1: it has 65536 characters or more"):
        read_log(path)
    most_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most_bytes < 1 << 20


def test_a_changed_figure_is_refused_with_its_line(tmp_path):
    path = tmp_path / "run.csv"
    written(path, even(3))
    path.write_text(path.read_text().replace(f",{even(3)[1].present_ns},", ",soon,", 1))
    with pytest.raises(TwixtError, match="line 3"):
        read_log(path)


NUMBERS = [name for name, kind in KIND_OF.items() if kind is not str]
STRANGE = [
    "",
    "soon",
    "1e999x",
    "nan",
    "inf",
    "-1",
    "0",
    *map(str, (1 << 53, 1 << 62, -(1 << 63), (1 << 63) - 1, 1 << 63, 10**40)),
]


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.filterwarnings("error")
def test_a_column_that_was_changed_is_read_or_refused_with_its_line_and_name(tmp_path, capsys, name):
    rows = [
        row._replace(display_present_ns=row.present_ns if row.frame % 3 else 0, swap_end_ns=row.present_ns + MS)
        for row in even(24, planned_refreshes=1, gpu_ns=MS, present_source="display")
    ]
    path = tmp_path / "run.csv"
    written(path, rows)
    lines = [line.split(",") for line in path.read_text().splitlines()]
    at = lines[0].index(name)
    said = []
    for text in STRANGE:
        for changed in (range(1, 25), range(2, 25, 2)):
            spoilt = [[*line[:at], text, *line[at + 1 :]] if i in changed else line for i, line in enumerate(lines)]
            path.write_text("\n".join(map(",".join, spoilt)))
            try:
                report_log(str(path), "-")
            except TwixtError as error:
                said.append((changed[0] + 1, str(error)))
    capsys.readouterr()
    assert said
    for line, words in said:
        assert re.search(rf"line {line}: {name} must be .*, got '", words)
        assert len(words) < 400


def test_numbers_that_no_display_reaches_have_no_grid(tmp_path, capsys):
    path = tmp_path / "run.csv"
    presents_ns = [START_NS] * 10 + [START_NS + (1 << 60)] * 10
    rows = [row._replace(pacer_interval_ns=1) for row in shown_at(presents_ns, planned_refreshes=MOST_REFRESHES)]
    written(path, rows)
    report_log(str(path), "-")
    assert json.loads(capsys.readouterr().out)["display"]["refresh_measured_hz"] is None


def test_a_log_in_a_folder_that_is_not_there_is_refused_at_once(tmp_path):
    with pytest.raises(TwixtError, match="for --log, name a file in an existing folder"):
        FrameLog(str(tmp_path / "no" / "run.csv"))


def test_a_loop_without_spare_time_has_its_rows_in_the_file_all_the_same(tmp_path):
    path = tmp_path / "run.csv"
    log = FrameLog(str(path))
    for row in even(500):
        log.add(row)
    assert len(read_log(path)) > 100, "some rows wait, and a piece of the file's"
    log.close()
    assert len(read_log(path)) == 500


def test_a_frame_that_the_display_discarded_is_dropped_and_its_instants_stay(tmp_path):
    rows = even(20)
    log = FrameLog(str(tmp_path / "run.csv"))
    for row in rows:
        log.add(row)
    log.display_reported(7, 0, "discarded")
    log.close()
    assert list(read_log(tmp_path / "run.csv"))[7] == rows[7]._replace(present_flags="discarded")
    lines = (tmp_path / "run.csv").read_text().splitlines()
    at = lines[0].split(",").index("Dropped")
    assert [number for number, line in enumerate(lines[1:]) if line.split(",")[at] == "1"] == [7]

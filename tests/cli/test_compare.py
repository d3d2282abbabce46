"""Two runs beside each other."""

import json

import pytest

from tests.render.measure.runs import even
from tests.render.measure.test_frame_log import written
from twixt.cli.compare import compare_files, differences
from twixt.ipc.config.files import write_json
from twixt.ipc.errors import TwixtError
from twixt.render.measure.frame_log import read_log
from twixt.render.measure.report import of_log


@pytest.fixture
def logs(tmp_path):
    fast, slow = tmp_path / "fast.csv", tmp_path / "slow.csv"
    written(fast, even(120))
    written(slow, even(120, 25_000_000))
    return str(fast), str(slow)


def test_figures_of_both_and_their_change_are_printed(logs, capsys):
    assert compare_files(*logs) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("frames.mean_fps"))
    assert line.split()[1:] == ["60.00", "40.00", "-20.00"]


def test_a_log_and_a_report_are_compared_alike(logs, tmp_path, capsys):
    report = tmp_path / "slow.json"
    write_json(of_log(read_log(logs[1]), ""), str(report))
    assert compare_files(logs[0], str(report)) == 0
    assert "frames.interval_ms.p99" in capsys.readouterr().out


def test_figures_that_neither_measured_are_left_out(logs):
    one = of_log(read_log(logs[0]), "")
    names = [name for name, _, _ in differences(one, one)]
    assert "frames.mean_fps" in names
    assert "physics.steps" not in names


def test_the_picture_needs_logs(logs, tmp_path):
    assert compare_files(*logs, str(tmp_path / "both.png")) == 0
    assert (tmp_path / "both.png").exists()
    write_json(of_log(read_log(logs[1]), ""), str(tmp_path / "slow.json"))
    with pytest.raises(TwixtError, match="needs two frame logs"):
        compare_files(logs[0], str(tmp_path / "slow.json"), str(tmp_path / "no.png"))


@pytest.mark.parametrize(
    ("text", "says"), [("{", "it is not JSON"), ("[]", "got None"), ('{"schema": "x/9"}', "got 'x/9'")]
)
def test_a_json_that_is_no_report_is_refused(logs, tmp_path, text, says):
    other = tmp_path / "other.json"
    other.write_text(text)
    with pytest.raises(TwixtError, match=says):
        compare_files(logs[0], str(other))


def test_a_report_of_the_form_before_is_compared_but_for_what_was_in_another_unit(logs, tmp_path, capsys):
    before = tmp_path / "before.json"
    report = json.loads(json.dumps(of_log(read_log(logs[1]), "")))
    report["schema"] = "twixt-report/1"
    for section, key in (
        ("display", "present_source"),
        ("motion", "judder"),
        ("motion", "left_out"),
        ("pacer", "quality"),
    ):
        del report[section][key]
    del report["causes"]["render_late_parts"]
    before.write_text(json.dumps(report))
    assert compare_files(logs[0], str(before)) == 0
    printed, said = capsys.readouterr()
    lines = {line.split()[0]: line.split()[1:] for line in printed.splitlines()}
    assert lines["frames.mean_fps"][:2] == ["60.00", "40.00"]
    assert lines["motion.animation_error_ms.p99"][1] == "-"
    assert "twixt-report/1" in said
    assert "older schema" in said

"""Code of the user's: found where they are, after what is installed, and blamed in its own words alone."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import twixt
from twixt.ipc.errors import TwixtError
from twixt.ipc.process.interrupts import Terminated
from twixt.ipc.process.user_code import (
    UserCodeCrashed,
    add_user_folders_to_path,
    calling_user_code,
    code_folders,
    error_text,
    import_user_module,
    set_code_folders,
    user_traceback,
)

HOUSE = os.path.realpath(twixt.__path__[0])
OURS = os.path.join(HOUSE, "sim", "ours.py")
FOLDER = "/where/the/user/is"


def refusal(module_name: str) -> TwixtError:
    with pytest.raises(TwixtError) as caught:
        import_user_module(module_name, "--world")
    return caught.value


def crash(module_name: str) -> UserCodeCrashed:
    error = refusal(module_name)
    assert isinstance(error, UserCodeCrashed)
    return error


def without_marks(traceback_text: str) -> list[str]:
    """Its lines, but not those that point into the line above: Python's versions draw them differently."""
    return [line for line in traceback_text.splitlines() if line.strip(" ^~")]


def test_a_module_is_found_in_the_folder_where_the_user_is(users_folder: Path) -> None:
    refusal("a_late_module")
    (users_folder / "a_late_module.py").write_text("LIKED = 7")
    assert import_user_module("a_late_module", "--world").LIKED == 7


@pytest.mark.parametrize("name", ["tarantella", "tarantella.inner", "a_users_package.inner"])
def test_a_module_that_is_not_there_is_told_with_where_it_was_looked_for(users_folder: Path, name: str) -> None:
    (users_folder / "a_users_package").mkdir()
    (users_folder / "a_users_package" / "__init__.py").write_text("")
    (users_folder / "nothing_like_it.py").write_text("")
    assert str(refusal(name)) == (
        f'--world: no module named "{name}" in {users_folder} or on the Python path; '
        "cd to the folder of the module, or set PYTHONPATH"
    )


def test_a_slip_of_the_pen_is_answered_with_the_file_that_was_meant(users_folder: Path) -> None:
    for entry in ("my_orbits.py", "my_orbitt.txt", "arbiter.py"):
        (users_folder / entry).write_text("")
    error = refusal("my_orbitt")
    assert str(error) == (
        f'--world: no module named "my_orbitt" in {users_folder} or on the Python path; did you mean "my_orbits"?'
    )
    assert (error.exit_code, error.__suppress_context__) == (2, True)


def test_a_module_that_raises_is_told_with_its_own_traceback_alone(users_folder: Path) -> None:
    (users_folder / "it_divides.py").write_text("import it_is_wrong\n")
    (users_folder / "it_is_wrong.py").write_text("def wrong():\n    return 1 / 0\n\nwrong()\n")
    error = crash("it_divides")
    assert str(error) == "--world: importing it_divides raised ZeroDivisionError: division by zero"
    assert error.exit_code == 1
    assert isinstance(error.__cause__, ZeroDivisionError)
    assert without_marks(error.traceback_text) == [
        "Traceback (most recent call last):",
        f'  File "{users_folder / "it_divides.py"}", line 1, in <module>',
        "    import it_is_wrong",
        f'  File "{users_folder / "it_is_wrong.py"}", line 4, in <module>',
        "    wrong()",
        f'  File "{users_folder / "it_is_wrong.py"}", line 2, in wrong',
        "    return 1 / 0",
        "ZeroDivisionError: division by zero",
    ]


def test_a_module_with_a_line_that_is_no_python_is_told_with_that_line(users_folder: Path) -> None:
    (users_folder / "it_is_no_python.py").write_text("good = 1\nworld = = 2\n")
    assert without_marks(crash("it_is_no_python").traceback_text) == [
        f'  File "{users_folder / "it_is_no_python.py"}", line 2',
        "    world = = 2",
        "SyntaxError: invalid syntax",
    ]


@pytest.mark.parametrize("missing", ["nowhere_to_be_found", "it_imp"])
def test_an_import_that_fails_inside_a_module_is_the_modules_own_fault(users_folder: Path, missing: str) -> None:
    (users_folder / "it_imports.py").write_text(f"import {missing}")
    error = crash("it_imports")
    assert str(error) == f"--world: importing it_imports raised ModuleNotFoundError: No module named '{missing}'"
    assert "line 1, in <module>" in error.traceback_text


def test_a_name_that_a_module_has_not_is_not_a_missing_module(users_folder: Path) -> None:
    (users_folder / "it_has_not.py").write_text("from it_has_not import world\n")
    assert "raised ImportError: cannot import name 'world'" in str(crash("it_has_not"))


def test_a_module_that_exits_is_told_and_one_that_is_interrupted_is_not(users_folder: Path) -> None:
    (users_folder / "it_exits.py").write_text("import sys\nsys.exit('no more')")
    assert str(crash("it_exits")) == "--world: importing it_exits raised SystemExit: no more"
    (users_folder / "it_is_interrupted.py").write_text("raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        import_user_module("it_is_interrupted", "--world")


@pytest.mark.parametrize(
    ("stands_in", "before", "after"),
    [
        pytest.param(None, ["", "/lib"], ["", "/lib", FOLDER], id="last"),
        pytest.param(None, [FOLDER, "/lib"], [FOLDER, "/lib"], id="where it is already"),
        pytest.param(None, [HOUSE, "/lib"], ["/lib", FOLDER, HOUSE], id="before our own"),
        pytest.param(None, [HOUSE, "/lib", HOUSE + "/."], ["/lib", FOLDER, HOUSE], id="our own but once"),
        pytest.param(HOUSE, ["", "/lib"], ["", "/lib", HOUSE], id="in ours, which is not there"),
        pytest.param(HOUSE, ["/lib", HOUSE], ["/lib", HOUSE], id="in ours, which is there"),
        pytest.param(HOUSE, [HOUSE + "/.", "/lib"], ["/lib", HOUSE + "/."], id="in ours, by another name"),
    ],
)
def test_the_users_folder_is_searched_late_and_ours_last(
    users_folder: Path, monkeypatch: pytest.MonkeyPatch, stands_in: str | None, before: list[str], after: list[str]
) -> None:
    def here(paths: list[str]) -> list[str]:
        return [str(users_folder) if path == FOLDER else path for path in paths]

    monkeypatch.chdir(stands_in or users_folder)
    monkeypatch.setattr(sys, "path", here(before))
    add_user_folders_to_path()
    assert sys.path == here(after)
    add_user_folders_to_path()
    assert sys.path == here(after)


def test_what_a_simulation_named_is_found_where_the_simulation_would_find_it(
    users_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs, ours = users_folder / "theirs", users_folder / "ours"
    for folder, liked in ((theirs, 1), (ours, 2)):
        folder.mkdir()
        (folder / "a_rule_beside.py").write_text(f"LIKED = {liked}")
    monkeypatch.chdir(ours)
    set_code_folders([str(theirs), HOUSE])
    assert import_user_module("a_rule_beside", "--world").LIKED == 1
    assert sys.path[-1] in (str(ours), HOUSE), "our own is where it was, or last"
    assert f"in {theirs}, {HOUSE}, {ours} or on the Python path; did you mean" in str(refusal("a_rule_besides"))


def test_the_folders_of_a_users_code_are_neither_ours_nor_those_of_what_is_installed(
    users_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (users_folder / "lib").mkdir()
    types = users_folder / "types"
    (types / "twixt").mkdir(parents=True)
    (types / "twixt" / "__init__.py").symlink_to(os.path.join(HOUSE, "twixt.py"))
    broken = os.fsdecode(b"/no-text-\xff")
    paths = [
        str(users_folder),
        HOUSE,
        "",
        str(types),
        *sys.path,
        broken,
        b"/bytes",
        None,
        str(users_folder / "nowhere"),
        str(users_folder / "lib"),
    ]
    monkeypatch.setattr(sys, "path", paths)
    found = code_folders()
    assert (found[0], found[-1]) == (str(users_folder), str(users_folder / "lib"))
    assert found.count(str(users_folder)) == 1
    for folder in found:
        assert not folder.endswith(("site-packages", "nowhere"))
        assert not os.path.exists(os.path.join(folder, "asyncio"))
        assert os.path.realpath(folder) != HOUSE
        assert not os.path.exists(os.path.join(folder, "twixt", "__init__.py"))


class Mute(Exception):
    """Raises when it is asked for its words."""

    def __str__(self) -> str:
        raise OSError("no words")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError("too MAX"), "ValueError: too MAX"),
        (ValueError(), "ValueError"),
        (ValueError("what follows: "), "ValueError: what follows"),
        (Mute(), "Mute: its message cannot be read, OSError"),
    ],
)
def test_an_error_is_said_by_its_kind_and_its_words(error: Exception, words: str) -> None:
    assert error_text(error) == words


def function(filename: str, body: str, **known: Any) -> Callable[[], Any]:
    """A function of that body in a file of that name. known: what else the body may name."""
    exec(compile("def run():\n" + textwrap.indent(body, "    "), filename, "exec"), known)
    return known["run"]


def raised(run: Callable[[], Any]) -> Exception:
    """What `run` raises, as if nobody of this file had called it."""
    with pytest.raises(Exception) as caught:  # noqa: PT011 (of any kind)
        run()
    called_from = caught.value.__traceback__
    assert called_from is not None
    return caught.value.with_traceback(called_from.tb_next)


def shown(run: Callable[[], Any]) -> list[str]:
    """What the traceback of what `run` raises holds: whose frames, and what was raised."""
    lines = [line.strip(" +|-") for line in user_traceback(raised(run)).splitlines()]
    return [line.split(",")[0] for line in lines if line.startswith("File ") or "Error" in line]


def test_a_traceback_leaves_our_frames_out_between_the_users() -> None:
    inner = function("/users/inner.py", "raise ValueError('deep')")
    ours = function(OURS, "inner()", inner=inner)
    outer = function("/users/outer.py", "ours()", ours=ours)
    assert shown(outer) == ['File "/users/outer.py"', 'File "/users/inner.py"', "ValueError: deep"]


def test_where_no_frame_is_the_users_there_is_no_traceback() -> None:
    assert user_traceback(raised(function(OURS, "raise TypeError('run() takes no argument')"))) == ""


@pytest.mark.parametrize("our", ["cli/a.py", "ipc/a.py", "render/a.py", "sim/a.py", "twixt.py", "__init__.py"])
def test_our_own_files_are_not_shown(our: str) -> None:
    assert shown(function(os.path.join(HOUSE, our), "raise ValueError")) == []


@pytest.mark.parametrize(
    "theirs", ["sim/worlds/a.py", "sim/contacts/a.py", "examples/a.py", "tests/a.py", "simulations/a.py"]
)
def test_built_in_worlds_and_what_lies_beside_our_own_files_count_as_the_users(theirs: str) -> None:
    filename = os.path.join(HOUSE, theirs)
    assert shown(function(filename, "raise ValueError")) == [f'File "{filename}"', "ValueError"]


def test_our_files_are_known_by_any_path_that_leads_to_them(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(HOUSE)
    assert shown(function(str(tmp_path / "link" / "sim" / "a.py"), "raise ValueError")) == []


@pytest.mark.parametrize("chained", ["from error", ""])
def test_a_cause_of_the_users_is_shown_though_the_error_itself_is_ours(chained: str) -> None:
    theirs = function("/users/cause.py", "raise KeyError('mass')")
    ours = f"try:\n    theirs()\nexcept KeyError as error:\n    raise TypeError('no such body') {chained}"
    assert shown(function(OURS, ours, theirs=theirs)) == [
        *('File "/users/cause.py"', "KeyError: 'mass'"),
        "TypeError: no such body",
    ]


def test_every_error_of_a_group_is_shown() -> None:
    errors = [raised(function(f"/users/{name}.py", f"raise ValueError('{name}')")) for name in ("first", "second")]
    lines = shown(function(OURS, "raise ExceptionGroup('both', errors)", errors=errors))
    assert [line for line in lines if "ExceptionGroup" not in line] == [
        *('File "/users/first.py"', "ValueError: first"),
        *('File "/users/second.py"', "ValueError: second"),
    ]


def test_a_crash_of_the_users_code_is_a_message_and_their_traceback_and_no_bad_input() -> None:
    crash = UserCodeCrashed("the world ended", "Traceback of theirs")
    assert isinstance(crash, TwixtError)
    assert str(crash) == "the world ended"
    assert crash.traceback_text == "Traceback of theirs"
    assert (crash.exit_code, TwixtError.exit_code) == (1, 2)


def test_what_the_user_code_raises_is_a_crash_once_and_what_ends_the_process_passes() -> None:
    said = r"^Orbit\.step raised ZeroDivisionError: division by zero$"
    with pytest.raises(UserCodeCrashed, match=said), calling_user_code("Orbit.run"), calling_user_code("Orbit.step"):
        1 / 0  # noqa: B018
    for ends in (KeyboardInterrupt, SystemExit, lambda: Terminated(15)):
        with pytest.raises((KeyboardInterrupt, SystemExit, Terminated)), calling_user_code("Orbit.step"):
            raise ends()


def test_a_refusal_of_a_users_value_passes_where_it_is_asked_for() -> None:
    with (
        pytest.raises(TwixtError, match="^count must be") as refused,
        calling_user_code("Orbit.__init__", refusals=True),
    ):
        raise TwixtError("count must be a number")
    assert not isinstance(refused.value, UserCodeCrashed)
    with (
        pytest.raises(UserCodeCrashed, match=r"^Orbit\.step: count must be a number$"),
        calling_user_code("Orbit.step"),
    ):
        raise TwixtError("count must be a number")


def test_a_current_folder_that_is_gone_is_a_refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert str(refusal("my_rule")).startswith(
        '--world: the current folder, in which "my_rule" is searched, does not exist ('
    )

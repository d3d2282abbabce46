"""Every code block of every page runs: Python as one program a page, commands of twixt one after another."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.commands import group as bench_group
from tests.displays.rigs import Display, xvfb
from tests.docs.blocks import NOT_RUN, ROOT, Block, Command, blocks_of, commands_of, pages
from tests.end_to_end.processes import Run, Starter, starter, until
from tests.forked import Forks
from twixt.cli.command_line import commands as twixt_commands
from twixt.ipc.session import running

SECONDS = "0.3"
# Commands of twixt that end when the user ends them.
ENDLESS = {"run", "view", "sim", "measure", "serve"}
# Exit code of `--fail-if`: these runs are short, and other tests take the cores from them.
LIMIT_BROKEN = 1
# Notices of a loop that asks for no window, or for a page. Every other one is a fault of a page's program.
EXPECTED = ("twixt: no viewer was requested", "twixt: browser view: ")
# Ten runs, as `tests/cli/test_runs_in_turns.py` makes them: its words are read, it is not run.
READ_ONLY = {"--against", "--repeat"}
# Programs of the system, and of a shell. They are not run: they would change this machine, or need another one.
SYSTEM = {"apt-get", "docker", "eval", "export", "fish", "git", "sh", "source", "ssh", "sudo", "xvfb-run", "."}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# Its blocks are the output of `--help`, which has examples of commands.
HELP = "docs/command-line.md"
PAGES = [str(page.relative_to(ROOT)) for page in pages()]


def page_blocks(page: str) -> list[Block]:
    return blocks_of((ROOT / page).read_text())


@pytest.fixture(scope="module")
def screen() -> Iterator[Display]:
    with xvfb() as display:
        yield display


@pytest.fixture
def start(screen: Display, tmp_path: Path) -> Iterator[Starter]:
    """Starts programs in a folder with the examples, on a display."""
    with starter(tmp_path, screen.environ) as starts:
        shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("__pycache__"))
        yield starts


def run_page(start: Starter, page: Path, **environ: str) -> Run:
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from tests.docs.run_page import main; main({str(page)!r})"
    return start.start([sys.executable, "-P", "-c", code], **environ)


def ended_well(run: Run, what: str) -> None:
    assert run.end() == 0, f"{what}:\n{run.out}\n{run.err}"
    assert "Traceback" not in run.err, f"{what}:\n{run.err}"


def test_every_block_has_a_language_and_what_can_be_run_is_run() -> None:
    known = {"python", "console", *NOT_RUN}
    blocks = {f"{page}:{block.line}": block for page in PAGES for block in page_blocks(page)}
    assert len(blocks) > 30
    assert [place for place, block in blocks.items() if block.language not in known] == []
    hidden = re.compile(r"^(\$ |>>> )?(twixt |python3? |pip |make |import |from \w+ import )", re.MULTILINE)
    texts = {place: block for place, block in blocks.items() if block.language == "text" and not place.startswith(HELP)}
    assert [place for place, block in texts.items() if hidden.search(block.text)] == []


@pytest.mark.display
@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [page for page in PAGES if {b.language for b in page_blocks(page)} & {"python", "console"}]
)
def test_the_code_of_a_page_runs(start: Starter, forked: Forks, page: str) -> None:
    blocks = page_blocks(page)
    if any(block.language == "python" for block in blocks):
        run = run_page(start, ROOT / page)
        ended_well(run, page)
        notices = [line for line in run.err.splitlines() if line.startswith("twixt:")]
        assert [line for line in notices if not line.startswith(EXPECTED)] == [], run.err
        assert running() == []
    written = {block.file_name for block in blocks}
    for block in blocks:
        if block.language == "console":
            run_commands(start, forked, commands_of(block), f"{page}:{block.line}", written)


def run_commands(start: Starter, forked: Forks, commands: list[Command], place: str, written: set[str]) -> None:
    """Runs them in order. A simulation with a name runs beside the commands that follow it. written: names of the files
    that the page's program has written and run."""
    beside: list[Run] = []
    folder = start.folder
    for command in commands:
        program, *words = command.words
        what = f"{place}: {command}"
        name = Path(program).name
        if name == "twixt":
            run_twixt(start, forked, command, what, beside, is_last=command is commands[-1])
        elif name in ("python", "python3"):
            run_python(start, command, words, what, written)
        elif name == "cd":
            start.folder = start.folder / words[0]
        elif name == "make":
            assert all(re.search(rf"^{re.escape(word)}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
                       for word in words if "=" not in word), what  # fmt: skip
        elif name == "pip":
            extras = {each.strip() for found in re.findall(r"\[(.*?)\]", str(command)) for each in found.split(",")}
            assert extras <= PROJECT["optional-dependencies"].keys(), what
        else:
            assert name in SYSTEM, f"{what}: not a program that a page may name"
    for run in beside:
        run.interrupt()
        run.end()
        assert "Traceback" not in run.err, run.err
    start.folder = folder


def run_twixt(start: Starter, forked: Forks, command: Command, what: str, beside: list[Run], is_last: bool) -> None:
    words = list(command.words[1:])
    named = words[0] if words and words[0] in twixt_commands else ""
    if READ_ONLY & set(words):
        twixt_commands[named].build(named).make_context(named, words[1:]).close()
        return
    if named == "sim" and not is_last:
        run = start(*words, **command.environ)
        name = words[words.index("--name") + 1]
        until(lambda: any(path.name.startswith(name) for path in start.runtime_folder.rglob("*")), f"{name} runs")
        beside.append(run)
        return
    if (named in ENDLESS or not named) and not {"--steps", "--help", "--version"} & set(words):
        words += ["--seconds", SECONDS]
        if named not in ("sim", "serve"):
            words += ["--size", "320x240"]  # the last one counts
    run = start(*words, **command.environ) if command.environ else start.forked(forked, *words)
    if "--fail-if" in words and run.end() == LIMIT_BROKEN:
        assert "limit broken" in run.err
        return
    ended_well(run, what)


def run_python(start: Starter, command: Command, words: list[str], what: str, written: set[str]) -> None:
    if words[:2] == ["-m", "bench"]:
        named = next((word for word in words[2:] if not word.startswith("-")), "")
        assert not named or named in bench_group().list_commands(None), what
    elif words[:1] == ["-m"]:
        place = ROOT.joinpath(*words[1].split("."))
        assert place.with_suffix(".py").exists() or (place / "__main__.py").exists() or shutil.which(words[1]), what
    elif words[0] not in written:  # a file of the page has run as a part of the page's program
        path = next(path for path in (ROOT / words[0], ROOT / "examples" / words[0]) if path.exists())
        ended_well(run_page(start, path, **command.environ, EVENT_LOG=os.devnull), what)


def test_blocks_are_found_with_their_lines_and_files() -> None:
    page = "a\n\n```python\nx = 1\n```\n\n<!-- invisible-code-block: python\ny = 2\n-->\n\n```console\ntwixt run  # it\n```\n"
    page += "\n```python\n# my_file.py\nz = 3\n```\n\n    old = 4\n"
    blocks = blocks_of(page)
    assert [(block.language, block.line) for block in blocks] == [
        ("python", 4), ("python", 8), ("console", 12), ("python", 16), ("", 20)
    ]  # fmt: skip
    assert [block.file_name for block in blocks] == ["", "", "", "my_file.py", ""]
    assert [block.text for block in blocks][:2] == ["x = 1\n", "y = 2\n"]


def test_commands_are_split_as_a_shell_does() -> None:
    text = "twixt run 'a b' --set x=1   # why\nA=1 B='c d' python p.py\n# only a comment\n\ntwixt \\\n  doctor\n"
    assert commands_of(Block("console", text, 1)) == [
        Command({}, ("twixt", "run", "a b", "--set", "x=1")),
        Command({"A": "1", "B": "c d"}, ("python", "p.py")),
        Command({}, ("twixt", "doctor")),
    ]

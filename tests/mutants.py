"""Mutation testing: which changed lines of the channel and of the schedule no test notices.

    python -m tests.mutants [--only 'ipc/ring/*'] [--out docs/mutants.md]        (`make mutants`: all of it)

mutmut changes one operator, value or call at a time and runs the tests that execute it. A change that no test detects
survives. mutmut needs an ordinary package, so the tree is copied as the wheel has it, into a separate folder.

Always: of the checkout only the page is written. A line that no test executes counts as survived. Tests that race
processes for seconds (`stress`) and the model checker, which removes fences itself, are not run.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import starmap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "mutants"
PROGRESS = WORK / "progress.txt"
PARTS = ("cli", "ipc", "sim", "render", "relay")
MUTATED = ("ipc/*", "sim/schedule/schedule.py")
TESTS = ("tests/ipc", "tests/sim/schedule/test_schedule.py")
# mutmut's exit codes: 0 no test failed, None not run; 33 and 5 no test came by. Everything else was noticed, a timeout too.
SURVIVED, UNTESTED = (0, None), (33, 5)
TARGET = 0.90

# A mutant is noticed by the first failure: nobody looks for a smaller one.
NO_SHRINKING = """

from hypothesis import Phase, settings

settings.register_profile("mutants", phases=[Phase.explicit, Phase.generate], database=None)
settings.load_profile("mutants")
"""

# Reasons why tests do not detect the mutants that survive, found by reading the mutants.
LEFT = """## What survives

- **No difference in behaviour**: `strict=` for lists that always have the same length; a numpy type that is the
  default or is set afterwards; a default value that every caller passes; a limit at which both branches do the same;
  checks that are made twice.
- **Values without an effect**: first values that are overwritten before they are read; keys of messages that wait
  inside one process.
- **The length of a wait** (in `ipc/session/`): a wait that ends at once and a pause of zero have the same result. Only
  their cost is different, and tests assert no maximum time. `tests/long/hostile/flood.py` measures floods of messages
  instead.
- **Only slower or larger**: mutants of caches, of counts that are passed to `fromiter`, of sizes of pieces, and of the
  length of a random name.
- **In a forked child**: mutmut does not follow the run inside a forked child, so the lines that run there count as not
  executed. Tests of forks fail with most of these mutants (`tests/ipc/process/test_fork.py`,
  `tests/ipc/ring/test_memory.py`).
- **For other systems**: tests on Linux do not run the code for macOS and Windows.
- **The fences**: mutmut does not change them. The model checker removes each fence instead ([channel.md](channel.md)).
- **Text for people**: the number of digits that a trace shows; the order of words in a joined list of one word.
"""

CONFIG = """[mutmut]
source_paths=twixt
only_mutate=
{only}
pytest_add_cli_args=
    -m
    not stress and not display and not slow
    --ignore=tests/ipc/model
    -p
    no:cacheprovider
pytest_add_cli_args_test_selection=
{tests}
timeout_constant=3
timeout_multiplier=5
"""


def lay_out(only: tuple[str, ...]) -> None:
    """The tree as the wheel has it, with the tests, in WORK; what was found before is forgotten."""
    shutil.rmtree(WORK, ignore_errors=True)
    package = WORK / "twixt"
    package.mkdir(parents=True)
    (WORK / "mutants").mkdir()  # Python looks for it once, at its start
    for name in ("__init__.py", "twixt.py"):  # a package; and a checkout, to the processes that tests start
        shutil.copy(ROOT / "twixt.py", package / name)
    ignore = shutil.ignore_patterns("__pycache__")
    for part in PARTS:
        shutil.copytree(ROOT / part, package / part, ignore=ignore)
    shutil.copytree(ROOT / "tests", WORK / "tests", ignore=ignore)
    with (WORK / "tests" / "conftest.py").open("a") as conftest:
        conftest.write(NO_SHRINKING)
    project = (ROOT / "pyproject.toml").read_text()
    (WORK / "pyproject.toml").write_text(project[project.index("[tool.pytest.ini_options]") :])
    (WORK / "setup.cfg").write_text(
        CONFIG.format(
            only=_lines(f"twixt/{pattern}" for pattern in only),
            tests=_lines(TESTS),
        )
    )


def run(children: int) -> int:
    """mutmut's own exit code. It rewrites its line ten times a second, so that goes to a file; one a minute is shown."""
    environment = {**os.environ, "PYTHONPATH": str(WORK / "mutants"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "mutmut", "run", "--max-children", str(children)]
    with PROGRESS.open("w") as progress:
        process = subprocess.Popen(command, cwd=WORK, env=environment, stdout=progress, stderr=progress)
        while True:
            try:
                return process.wait(60)
            except subprocess.TimeoutExpired:
                print(_last_line(PROGRESS), file=sys.stderr, flush=True)


def _last_line(file: Path) -> str:
    return (file.read_text(errors="replace").splitlines() or [""])[-1][-300:]


def found() -> Iterator[tuple[str, dict[str, int | None]]]:
    """Module and what became of each of its mutants."""
    for meta in sorted((WORK / "mutants" / "twixt").rglob("*.meta")):
        codes = json.loads(meta.read_text())["exit_code_by_key"]
        if codes:
            yield str(meta.relative_to(WORK / "mutants" / "twixt").with_suffix("")), codes


def page() -> tuple[str, float]:
    """The page, and the share of mutants that were noticed."""
    folders: dict[str, list[int]] = {}
    survivors: list[str] = []
    for module, codes in found():
        alive = [name for name, code in codes.items() if code in SURVIVED]
        untested = [name for name, code in codes.items() if code in UNTESTED]
        sums = folders.setdefault(str(Path(module).parent), [0, 0, 0])
        for place, count in enumerate((len(codes), len(alive), len(untested))):
            sums[place] += count
        survivors += alive + untested
    total = sum(sums[0] for sums in folders.values())
    noticed = total - len(survivors)
    (WORK / "survivors.txt").write_text("\n".join(survivors) + "\n")
    share = noticed / max(total, 1)
    return "\n".join([*_head(noticed, total, share), *starmap(_row, folders.items()), "", LEFT]), share


def _head(noticed: int, total: int, share: float) -> list[str]:
    return [
        "# Mutants of the channel and of the schedule",
        "",
        "This page shows how many wrong lines of `ipc/` and of the schedule the tests detect. mutmut (`make mutants`) changes",
        "one operator, value or call at a time, and runs the tests that execute the changed line. The changed program is a",
        "mutant. If a test fails or never ends, the mutant counts as detected. If only some of the tests of a mutant were run,",
        "and none of them failed, the mutant counts as survived.",
        "",
        f"The tests detected {noticed:,} of {total:,} mutants, or {share:.1%} (target: {TARGET:.0%}).",
        "",
        "| folder | mutants | detected | survived | no test executes it | detected, % |",
        "|---|---|---|---|---|---|",
    ]


def _row(folder: str, sums: list[int]) -> str:
    mutants, alive, untested = sums
    killed = mutants - alive - untested
    return f"| `{folder}/` | {mutants:,} | {killed:,} | {alive} | {untested} | {killed / mutants:.1%} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", help="files to change, such as 'ipc/ring/*'")
    parser.add_argument("--out", type=Path, help="write the page there")
    parser.add_argument("--children", type=int, default=os.cpu_count() or 1, help="processes at once")
    arguments = parser.parse_args()
    lay_out(tuple(arguments.only or MUTATED))
    if code := run(arguments.children):
        print(_last_line(PROGRESS), file=sys.stderr)
        return code
    text, share = page()
    print(text)
    print(f"survivors: {WORK.relative_to(ROOT)}/survivors.txt; look at one there with `mutmut show NAME`")
    if arguments.out is not None:
        arguments.out.write_text(text)
    return 0 if share >= TARGET else 1


def _lines(values: Iterator[str] | tuple[str, ...]) -> str:
    return "\n".join(f"    {value}" for value in values)


if __name__ == "__main__":
    sys.exit(main())

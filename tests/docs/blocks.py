"""Code blocks of the pages: Python programs and console commands, as the tests run them.

A fenced block has a language. `python`: all of a page are one program, run in order in one namespace. A comment
`<!-- invisible-code-block: python ... -->` belongs to that program; a reader does not see it. A block whose first line
is `# my_file.py` is that file as well. `console`: one command a line, with a comment after two spaces and `#`.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
# Languages of blocks that nobody runs: drawings, output, data.
NOT_RUN = ("text", "json", "csv", "toml")
INVISIBLE = re.compile(r"<!--+ invisible-code-block: python\n(.*?)-->", re.DOTALL)
FILE_NAME = re.compile(r"# (\w+\.py)\n")
COMMENT = re.compile(r"(^|  +)#.*$")


class Block(NamedTuple):
    """A block of code. line: number of the page's line, from 1, on which its text begins."""

    language: str
    text: str
    line: int

    @property
    def file_name(self) -> str:
        """Name of the file that the block also is; "" for none."""
        named = FILE_NAME.match(self.text) if self.language == "python" else None
        return named.group(1) if named else ""


def pages() -> list[Path]:
    """The pages for users and developers, the README first."""
    return [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks_of(text: str) -> list[Block]:
    """All code blocks of a page of Markdown, in order. A block without a fence has the language ""."""
    found = []
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        line = token.map[0] + 1 if token.map else 0
        if token.type == "fence":
            found.append(Block(token.info.strip(), token.content, line + 1))
        elif token.type == "code_block":
            found.append(Block("", token.content, line))
        elif token.type == "html_block":
            for hidden in INVISIBLE.finditer(token.content):
                before = token.content[: hidden.start(1)].count("\n")
                found.append(Block("python", hidden.group(1), line + before))
    return found


class Command(NamedTuple):
    """A command of a console block, as a shell splits it: variables that it sets, and its words."""

    environ: dict[str, str]
    words: tuple[str, ...]

    def __str__(self) -> str:
        return shlex.join([*(f"{name}={value}" for name, value in self.environ.items()), *self.words])


def commands_of(block: Block) -> list[Command]:
    """The commands of a console block."""
    commands = []
    for line in block.text.replace("\\\n", " ").splitlines():
        words = shlex.split(COMMENT.sub("", line))
        environ = {}
        while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
            name, _, value = words.pop(0).partition("=")
            environ[name] = value
        if words:
            commands.append(Command(environ, tuple(words)))
    return commands

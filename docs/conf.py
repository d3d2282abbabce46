"""How Sphinx builds the pages as a site: `make docs`.

The pages are plain Markdown. Their folder is the checkout itself, so that links such as `../README.md` are the same on
GitHub and in the site. The sidebar has the links of docs/index.md, under its headings.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

project = "twixt"
copyright = "the authors of twixt, MIT licence"
root_doc = "docs/index"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown", ".py": "markdown"}
include_patterns = ["*.md", "docs/**.md", "examples/*.py"]
exclude_patterns = [".*", "build", "dist", "out"]  # folders that Sphinx does not search
myst_heading_anchors = 4  # with the names that GitHub gives them
myst_enable_extensions = ["html_image"]
myst_disable_syntax = ["myst_line_comment", "myst_block_break", "myst_target", "myst_role"]  # not known on GitHub
smartquotes = False  # quotes in texts are often code

html_theme = "furo"
html_title = "twixt"
html_copy_source = False
html_use_index = False
html_static_path = ["site.css"]
html_css_files = ["site.css"]

HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
LINK = re.compile(r"\[([^]]+)\]\(([\w./-]+)\.md\)")
FIRST_PAGE = """<!doctype html><title>twixt</title>
<meta http-equiv="refresh" content="0; url=docs/index.html"><a href="docs/index.html">All pages</a>
"""


def read_page(_app: Sphinx, page: str, text: list[str]) -> None:
    """Makes a page of an example's code. Adds tables of contents to the index that only Sphinx sees: one for each
    heading, with the links below it."""
    if page.startswith("examples/"):
        text[0] = f"---\norphan: true\n---\n# {Path(page).name}.py\n\n```python\n{text[0]}\n```\n"
    if page == root_doc:
        _, *parts = HEADING.split(text[0])
        for heading, below in zip(parts[::2], parts[1::2], strict=True):
            pages = [f"{name} <{path}>" for name, path in LINK.findall(below)]
            lines = [":hidden:", f":caption: {heading}", "", *pages]
            text[0] += "\n```{toctree}\n" + "\n".join(lines) + "\n```\n"


def color_code(app: Sphinx, document: nodes.document) -> None:
    """Colours what the pages do not call by the name of its language: signatures, which are no whole programs, and
    commands without a prompt."""
    languages = {"console": "bash"}
    if app.env.docname == "docs/reference":
        languages["text"] = "python"
    for block in document.findall(nodes.literal_block):
        block["language"] = languages.get(block["language"], block["language"])


def write_first_page(app: Sphinx, error: Exception | None) -> None:
    """The site begins with the index, which is in a folder."""
    if error is None:
        Path(app.outdir, "index.html").write_text(FIRST_PAGE)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("source-read", read_page)
    app.connect("doctree-read", color_code)
    app.connect("build-finished", write_first_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

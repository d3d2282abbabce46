"""Runs a script in node, with the page's modules at hand."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

WEB = Path(__file__).resolve().parents[2] / "web"
# Hook for node 18, which takes a file `.js` for a script and not for a module.
AS_MODULES = """data:text/javascript,export const load = (url, context, next) =>
    next(url, {...context, format: url.endsWith(".js") && "module" || context.format})"""


def run_in_node(script: str, given: Any = None) -> Any:
    """Value that the script passes to `answer`. The script sees `given`, and imports modules as `WEB + "wire.js"`."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node; on Debian: apt-get install nodejs")
    head = f"""
        import fs from "node:fs";
        import {{register}} from "node:module";
        if (parseInt(process.versions.node) < 20) register({json.dumps(AS_MODULES)});
        const WEB = {json.dumps(WEB.as_uri() + "/")};
        const given = JSON.parse(fs.readFileSync(0, "utf-8"));
        const answer = (value) => process.stdout.write(JSON.stringify(value));
    """
    done = subprocess.run(
        [node, "--input-type=module", "-e", head + script],
        input=json.dumps(given), capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)

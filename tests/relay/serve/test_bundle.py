"""Scripts of all modules: they run as the modules do, and modules of another form are refused."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from twixt.relay.serve.bundle import bundled

MODULES = {
    "main.js": b'import {half, TWO} from "./math.js";\nimport {\n  Box,\n} from "./box.js";\n'
    b"const own = 1;\nconsole.log(new Box(TWO).size, half(5), own);\n",
    "box.js": b'import {half} from "./math.js";\nconst own = 10;\nexport class Box {\n  constructor(size) '
    b"{ this.size = half(size) + own; }\n}\n",
    "math.js": b"const own = 2;\nexport const ONE = 1, TWO = own;\nexport function half(value, by = own) { return value / by; }\n",
}


def test_names_of_modules_do_not_meet_and_each_module_runs_once(tmp_path: Path) -> None:
    scripts = bundled(MODULES, "main.js", ["one.mjs", "two.mjs"])
    for name, script in scripts.items():
        (tmp_path / name).write_bytes(script)
    whole = b"".join(scripts.values())
    assert [whole.count(b"const $%s =" % name) for name in (b"math", b"box", b"main")] == [1, 1, 1]
    assert b"$main" in scripts["two.mjs"]
    assert b"$math =" in scripts["one.mjs"]
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node; on Debian: apt-get install nodejs")
    ran = subprocess.run([node, str(tmp_path / "two.mjs")], capture_output=True, text=True)
    assert ran.stdout == "11 2.5 1\n", ran.stderr


@pytest.mark.parametrize(
    ("name", "text", "error"),
    [
        ("math.js", b"export function half() {}\n", "main.js imports TWO, which math.js does not export"),
        ("math.js", b'import {Box} from "./box.js";\n', "circle: main.js math.js box.js math.js"),
        ("math.js", b"export default 3;\n", "another form: export default 3;"),
        ("main.js", b'import * as math from "./math.js";\n', "another form: import"),
    ],
)
def test_other_modules_are_refused(name: str, text: bytes, error: str) -> None:
    with pytest.raises(ValueError, match=error.replace("*", "[*]")):
        bundled(MODULES | {name: text}, "main.js", ["one.js"])

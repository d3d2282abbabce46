"""The page's shaders by the reference compiler of the language: drivers differ in what they let pass."""

from __future__ import annotations

import re
import shutil
import subprocess
from itertools import product
from pathlib import Path

import pytest

from tests.web.in_node import run_in_node

SUFFIXES = {"vertex": "vert", "fragment": "frag"}
# WebGL2 guarantees this many vertex inputs. Firefox with Mesa and WebKit count `gl_VertexID` and `gl_InstanceID` too.
MOST_INPUTS = 16
# Values of the switches, as pose_pass.js, solids.js, meshes.js give them.
SWITCHES = {
    "METHOD": ("1", "blending.x"), "STRETCHED": (0, 1), "PLACED": (1,), "SCALED_PARTS": (0, 1), "TRANSPARENT": (0, 1),
    "PARALLEL": (False, True), "OUTLINED": (False, True), "PATTERN": ("guard.z",), "FINISH": (0, 1, 2, 3),
    "WIDE": (0, 1), "APART": (0,), "SKIN": (0, 1), "OWN_DEPTH": (0, 1), "FAINT_BELOW": ("0.5",), "FLAT": (0, 1),
    "SHADING": ("flat", "smooth"),
}  # fmt: skip
# Other values in some programs: only planes are checkers, only cones have no material, and surfaces have one.
OWN_SWITCHES = {"cones": {"FINISH": (0,)}, "planes": {"FINISH": (0, 1, 2, 3, 4)}, "surfaces": {"FINISH": (1, 2, 3)}}
SCRIPT = """
const {PROGRAMS, TEXTS} = await import(WEB + "glsl.js"), {shaderText} = await import(WEB + "gpu.js");
const words = (name, stage) => new Set(PROGRAMS[name][stage].flatMap((piece) => TEXTS[piece].match(/\\w+/g)));
if (given === null) {
  answer(Object.fromEntries(Object.keys(PROGRAMS).map((name) => [
    name, [...new Set([...words(name, "vertex"), ...words(name, "fragment")])],
  ])));
} else answer(given.map(([name, stage, switches]) => shaderText(name, stage, switches)));
"""


def shaders() -> dict[tuple[str, str], list[str]]:
    """Texts by program and stage, one for each choice of the switches that the program has."""
    asked = []
    for name, words in run_in_node(SCRIPT).items():
        known = SWITCHES | OWN_SWITCHES.get(name, {})
        switches = {switch: values for switch, values in known.items() if switch in words}
        for values in product(*switches.values()):
            chosen = dict(zip(switches, values, strict=True))
            asked += [(name, stage, chosen) for stage in SUFFIXES]
    texts: dict[tuple[str, str], list[str]] = {}
    for (name, stage, _), text in zip(asked, run_in_node(SCRIPT, asked), strict=True):
        texts.setdefault((name, stage), []).append(text)
    return texts


def compiler(*given: str, folder: Path) -> str:
    """Output of the reference compiler."""
    if shutil.which("glslangValidator") is None:
        pytest.skip("no glslangValidator; on Debian: apt-get install glslang-tools")
    done = subprocess.run(["glslangValidator", *given], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return done.stdout


def test_shaders_keep_to_the_language_and_to_the_number_of_inputs(tmp_path: Path) -> None:
    for (name, stage), texts in shaders().items():
        for at, text in enumerate(dict.fromkeys(texts)):
            (tmp_path / f"{name.replace(' ', '_')}_{at}.{SUFFIXES[stage]}").write_text(text)
    compiler(*sorted(path.name for path in tmp_path.iterdir()), folder=tmp_path)
    preprocessed = compiler("-E", *sorted(path.name for path in tmp_path.glob("*.vert")), folder=tmp_path)
    for text in preprocessed.split("#version")[1:]:
        inputs = [name for names in re.findall(r"(?m)^in \w+ ([^;]*);", text) for name in names.split(",")]
        inputs += set(re.findall(r"gl_(?:Vertex|Instance)ID", text))
        assert len(inputs) <= MOST_INPUTS, inputs

"""Other drivers than the one that is here: shaders by the book, older versions of OpenGL, another software renderer.

Drivers differ in what they let pass. `glslangValidator` reads each shader as the language's reference does; Mesa plays
a driver of OpenGL 3.3 and 4.1 core alone; softpipe is a renderer that shares little with llvmpipe.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import moderngl
import numpy as np
import pytest

from tests.render.draw.drawn_by import MARK_PROGRAMS, SIZE_PX, picture
from twixt.render.draw.bodies.body_programs import PASSES, SPHERE_PASSES
from twixt.render.draw.frame.context import is_software
from twixt.render.draw.glsl.uniform_blocks import POSE_VARIANTS, PoseVariant
from twixt.render.draw.light.composing import SHADINGS, compose_program
from twixt.render.draw.marks.mark_drawing import MARK_PASSES
from twixt.render.draw.meshes.mesh_buffers import blend_program
from twixt.render.draw.meshes.mesh_programs import MESH_PROGRAMS
from twixt.render.draw.quality import LEVELS

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
STAGES = {"vertex_shader": "vert", "geometry_shader": "geom", "fragment_shader": "frag"}

Site = tuple[str, str]  # file and function that made a program


class Collector:
    """Takes what a context is asked to make, instead of making it."""

    def __init__(self) -> None:
        self.programs: dict[tuple[tuple[str, str], ...], set[Site]] = {}

    def program(self, **shaders: Any) -> None:
        self.note(shaders, sys._getframe(1))

    def note(self, shaders: dict[str, Any], caller: Any) -> None:
        texts = tuple((stage, shaders[stage]) for stage in STAGES if shaders.get(stage))
        code = caller.f_code
        self.programs.setdefault(texts, set()).add((os.path.relpath(code.co_filename, ROOT), code.co_name))


@pytest.fixture(scope="module")
def collected() -> Collector:
    """All programs: those of the picture, and those of all bodies in all variants."""
    found = Collector()
    context = moderngl.create_standalone_context(require=330, backend="egl")
    make = moderngl.Context.program

    def noted(self: moderngl.Context, **shaders: Any) -> moderngl.Program:
        found.note(shaders, sys._getframe(1))
        return make(self, **shaders)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(moderngl.Context, "program", noted)
        picture(context)
        picture(context, LEVELS[-1])
    context.release()
    for name, one in PASSES.items():
        for motion in POSE_VARIANTS:
            for stretched in (False, True):
                for wide in {False, name in SPHERE_PASSES}:
                    one.make(found, PoseVariant(motion, stretched, wide))  # type: ignore[arg-type]
        for stretched in (False, True):
            placed = PoseVariant("curved", stretched, name in SPHERE_PASSES, placed=True, sampled=stretched)
            one.make(found, placed)  # type: ignore[arg-type]
    for make in MESH_PROGRAMS.values():
        make(found)  # type: ignore[arg-type]
    blend_program(found)  # type: ignore[arg-type]
    for shading in SHADINGS:
        compose_program(found, shading)  # type: ignore[arg-type]
    for name, variant in MARK_PROGRAMS:
        MARK_PASSES[name].make(found, variant)  # type: ignore[arg-type]
    return found


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[dict[str, Any], np.ndarray]]:
    """The picture by each driver, and what it said of itself. All at once: each takes a second or two."""
    folder = tmp_path_factory.mktemp("drawn")
    drivers = {
        "here": {},
        "softpipe": {"LIBGL_ALWAYS_SOFTWARE": "1", "GALLIUM_DRIVER": "softpipe"},
        "3.3": {"MESA_GL_VERSION_OVERRIDE": "3.3FC", "MESA_GLSL_VERSION_OVERRIDE": "330"},
        "4.1": {"MESA_GL_VERSION_OVERRIDE": "4.1FC", "MESA_GLSL_VERSION_OVERRIDE": "410"},
    }
    children = {
        name: subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tests.render.draw.drawn_by",
                str(folder / f"{name}.npy"),
                *["all"][name != "here" :],
            ],
            cwd=ROOT,
            env={**os.environ, **environ},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name, environ in drivers.items()
    }
    found = {}
    for name, child in children.items():
        out, said = child.communicate(timeout=120)
        assert child.returncode == 0, f"{name}: {said}"
        found[name] = json.loads(out), np.load(folder / f"{name}.npy").astype(int)
    return found


def sites_in_source() -> set[Site]:
    """Each function in which a program is made, as the files of `render/` say."""
    found = set()
    for path in (ROOT / "render").rglob("*.py"):
        file = str(path.relative_to(ROOT))
        for function in ast.walk(ast.parse(path.read_text())):
            if isinstance(function, ast.FunctionDef):
                calls = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
                if any(isinstance(call, ast.Attribute) and call.attr == "program" for call in calls):
                    found.add((file, function.name))
    return found


def test_no_program_is_left_out(collected: Collector) -> None:
    wanted = sites_in_source()
    assert len(wanted) > 10
    assert wanted == set().union(*collected.programs.values())


def test_every_shader_is_glsl_by_the_languages_reference(collected: Collector, tmp_path: Path) -> None:
    texts = {(stage, text) for program in collected.programs for stage, text in program}
    assert len(texts) > 100
    said = validated(tmp_path, sorted(texts))
    assert said.returncode == 0, said.stdout[-2000:]


def test_the_stages_of_a_program_fit_each_other(collected: Collector, tmp_path: Path) -> None:
    one_a_site: dict[Site, tuple[tuple[str, str], ...]] = {}
    for program, sites in collected.programs.items():
        for site in sites:
            one_a_site[site] = max(
                one_a_site.get(site, ()), program, key=lambda texts: sum(map(len, dict(texts).values()))
            )
    for site, program in one_a_site.items():
        said = validated(tmp_path, list(program), "-l")
        assert said.returncode == 0, f"{site}: {said.stdout[-2000:]}"


def test_the_reference_refuses_what_is_wrong(tmp_path: Path) -> None:
    assert validated(tmp_path, [("vertex_shader", "#version 330 core\nvoid main() { gl_Position = 1; }")]).returncode


def validated(folder: Path, shaders: list[tuple[str, str]], *flags: str) -> subprocess.CompletedProcess[str]:
    """What glslangValidator says of these shaders. `-l`: of the program that they make."""
    program = shutil.which("glslangValidator")
    if program is None:
        pytest.skip("no glslangValidator; on Debian: apt-get install glslang-tools")
    paths = [folder / f"{number}.{STAGES[stage]}" for number, (stage, _) in enumerate(shaders)]
    for path, (_, text) in zip(paths, shaders, strict=True):
        path.write_text(text)
    return subprocess.run([program, *flags, *map(str, paths)], capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("version", ["3.3", "4.1"])
def test_a_driver_of_an_older_version_draws_the_very_same(version: str, drawn: Any) -> None:
    said, pixels = drawn[version]
    if not said["version"].startswith(version):
        pytest.skip(f"no driver that takes MESA_GL_VERSION_OVERRIDE: asked for {version}, got {said['version']}")
    assert said["programs"] == len(PASSES) + len(MESH_PROGRAMS) + len(SHADINGS) + len(MARK_PROGRAMS)
    if is_software(said["renderer"]):
        assert (pixels == drawn["here"][1]).all()


def test_no_driver_reports_an_error_of_opengl(drawn: Any) -> None:
    assert {name: said["errors"] for name, (said, _) in drawn.items()} == {name: {} for name in drawn}


def test_softpipe_draws_the_same_picture_but_for_edges(drawn: Any) -> None:
    said, pixels = drawn["softpipe"]
    if said["renderer"] != "softpipe":
        pytest.skip(f"no softpipe in this Mesa: asked for it, got {said['renderer']}")
    here = drawn["here"][1]
    off = np.abs(pixels - here)
    # Where a line is a pixel wide, its neighbours get another share of it.
    assert off.mean() < 2.0
    assert (off.max(axis=2) > 64).mean() < 0.01
    assert off.mean() < 0.1 * np.abs(here - here.reshape(-1, 3).mean(axis=0)).mean()
    assert said["programs"] == len(PASSES) + len(MESH_PROGRAMS) + len(SHADINGS) + len(MARK_PROGRAMS)


def test_the_picture_shows_everything(drawn: Any) -> None:
    pixels = drawn["here"][1]
    assert pixels.shape == (*SIZE_PX[::-1], 3)
    assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 300
    red, _, blue = pixels[14, 24]
    assert blue > red + 50  # the sheet

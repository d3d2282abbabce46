"""The page's shader texts and uniform block against `render`, and what the page does when drawing fails."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import numpy as np
import pytest

from bench import web_glsl
from tests.web.drawing_page import DrawingPage, drawing_page
from tests.web.in_node import run_in_node
from twixt.ipc.scene import Scene
from twixt.ipc.scene.scene import packed_scene
from twixt.render.draw.flat.background import grid_levels
from twixt.render.draw.frame.camera import OrbitCamera
from twixt.render.draw.frame.frame_block import Floor, frame_block
from twixt.render.draw.glsl.pose import pose_glsl
from twixt.render.draw.glsl.uniform_blocks import FRAME_GLSL, PoseVariant

SIZE_PX = (640, 360)


def test_the_shader_texts_of_the_page_are_those_of_render():
    assert web_glsl.TARGET.read_text("utf-8") == web_glsl.module_text(), "run: python -m bench.web_glsl"


@pytest.mark.parametrize("stretched", [False, True])
@pytest.mark.parametrize("motion", ["linear", "curved"])
def test_the_text_of_poses_is_the_native_one_but_for_its_head(motion, stretched):
    variant = PoseVariant(motion, stretched, placed=True)
    switches = {
        "METHOD": 1 if motion == "linear" else "blending.x", "STRETCHED": int(stretched), "PLACED": 1,
        "SCALED_PARTS": 0, "TRANSPARENT": 0,
    }  # fmt: skip
    mine = run_in_node(
        'const {shaderText} = await import(WEB + "gpu.js"); answer(shaderText("poses", "vertex", given));', switches
    )

    def lines(text: str) -> list[str]:
        return sorted(line for line in text.splitlines() if not line.startswith("#undef"))

    native = web_glsl.plain(FRAME_GLSL + pose_glsl(variant).replace("gl_VertexID", "0") + web_glsl._POSE_MAIN)
    head = ["#version 300 es", "precision highp float;", "precision highp int;", "precision highp samplerCube;"]
    assert lines(mine) == sorted(head + lines(native))


SCENES = [
    Scene(), Scene(look="flat"), Scene(ground_z=None, light=(1.0, -2.0, 0.5), brightness=1.3), Scene(pattern=False, ground_z=-2.0),
    Scene(background=(0.9, 0.8, 1.0)),
]  # fmt: skip
CAMERAS = [
    OrbitCamera(), OrbitCamera(distance_m=20.0, azimuth_rad=2.0, elevation_rad=-0.7, orthographic=True),
    OrbitCamera(target=(3e6, -1e6, 12.3), distance_m=0.7, elevation_rad=1.5),
]  # fmt: skip


def test_the_uniform_block_of_a_picture_is_the_native_one():
    floors = [None, Floor((1.0, 2.0, 0.1), (0.6, 0.8), (3.0, 4.0), 24.0)]
    cases = [(scene, camera.matrices(SIZE_PX), floor) for scene in SCENES for camera in CAMERAS for floor in floors]
    given = [
        {
            "head": json.loads(packed_scene(scene).tables.partition(b"\n")[0]),
            "camera": {name: np.asarray(getattr(camera, name)).ravel().tolist() for name in ("view", "projection", "eye", "target")}
            | {"orthographic": camera.orthographic},
            "floor": None if floor is None else dict(zip(("middle", "along", "halfM", "fadeRadii"), floor, strict=True)),
        }
        for scene, camera, floor in cases
    ]  # fmt: skip
    mine = run_in_node(
        """
        const {frameBlock} = await import(WEB + "renderer.js");
        answer(given.map(({head, camera, floor}) => [...frameBlock(head, camera, 640, 360, floor ?? undefined)]));
        """,
        given,
    )
    for (scene, camera, floor), block in zip(cases, mine, strict=True):
        native = np.frombuffer(frame_block(scene, camera, (0, 0, *SIZE_PX), floor).tobytes(), np.float32)
        np.testing.assert_allclose(np.float32(block), native, rtol=2e-6, atol=2e-7)


def test_the_grid_has_the_native_levels():
    distances_m = [0.01, 0.5, 3.0, 9.99, 10.0, 80.0, 12345.0]
    mine = run_in_node(
        'const {gridLevels} = await import(WEB + "ground.js"); answer(given.map(gridLevels));', distances_m
    )
    for distance_m, levels in zip(distances_m, mine, strict=True):
        found = [tuple(level.values()) for level in levels]
        np.testing.assert_allclose(found, [tuple(level) for level in grid_levels(distance_m)], rtol=1e-12)


@pytest.fixture(scope="module")
def page() -> Iterator[DrawingPage]:
    with drawing_page() as opened:
        yield opened


# A renderer of one white sphere in the middle, and the colour of the pixel in the middle.
SPHERE = """
    const {Renderer} = await import("/renderer.js"), canvas = document.createElement("canvas"), renderer = new Renderer(canvas);
    const rows = {
        count: 1, body: Uint32Array.of(0), form: Float32Array.of(1, 1, 1, 0), color: Uint8Array.of(255, 255, 255, 255),
        local: Float32Array.of(0, 0, 0, 0, 0, 0, 1), groups: [{kind: "spheres", first: 0, count: 1}], layers: [[[0, 1]]],
    };
    const head = {look: "unlit", light: [0, 0, 1], pattern: false, brightness: 1, ground_z: null, outline: null, background: [0, 0, 0]};
    const camera = {
        view: [1,0,0,0, 0,1,0,0, 0,0,1,-5, 0,0,0,1], projection: [2,0,0,0, 0,2,0,0, 0,0,-1,-0.2, 0,0,-1,0],
        eye: [0, 0, 5], target: [0, 0, 0], orthographic: false,
    };
    const floats = new Float32Array(16), words = new Uint32Array(floats.buffer);
    floats[7] = 1; words[11] = 1 | 0x3c00 << 16; words[15] = 0xffffffff;
    const snapshot = {words, floats, count: 1, simNs: 0, columns: new Map()};
    renderer.setScene({head, rowsFor: () => rows, layerOf: () => 0});
    renderer.upload(snapshot);
    const asked = {before: null, older: snapshot, newer: null, share: 0, method: "auto", camera, widthPx: 100, heightPx: 80};
    const middle = () => {
        const pixel = new Uint8Array(4);
        renderer.gl.readPixels(50, 40, 1, 1, renderer.gl.RGBA, renderer.gl.UNSIGNED_BYTE, pixel);
        return [...pixel];
    };
"""


def test_after_a_lost_context_the_same_snapshot_is_drawn_again(page):
    found = page.run(
        f"""async () => {{ {SPHERE}
        const extension = renderer.gl.getExtension("WEBGL_lose_context");
        const event = (name) => new Promise((resolve) => canvas.addEventListener(name, resolve, {{once: true}}));
        const lost = event("webglcontextlost");
        extension.loseContext();
        await lost;
        renderer.draw(asked);
        renderer.upload(snapshot);
        renderer.release(snapshot);
        await new Promise((resolve) => setTimeout(resolve));  // a context may be restored only after the event
        const wasLost = renderer.isLost, restored = event("webglcontextrestored");
        extension.restoreContext();
        await restored;
        renderer.draw(asked);
        return [wasLost, renderer.isLost, renderer.gl.getError(), middle()];
    }}""",
        {},
    )
    assert found == [True, False, 0, [255, 255, 255, 255]]


def test_of_a_large_mesh_the_page_keeps_no_copies_that_only_the_gpu_needs(page):
    found = page.run(
        f"""async () => {{ {SPHERE}
        const faces = Uint32Array.from({{length: 3 * 30001}}, (_, at) => at % 3), kept = [];
        for (const mesh of [{{faces}}, {{faces: faces.slice(0, 9)}}, {{faces, deforms: true}}]) {{
            const vertices = Float32Array.of(0, 0, 0, 1, 0, 0, 0, 1, 0), entry = {{digest: "a", deforms: mesh.deforms, lengths: [3, 1]}};
            const contents = {{mesh: () => ({{normals: null, uv: null, vertices, ...mesh}})}};
            const own = {{...rows, groups: [{{kind: "meshes", mesh: 0, first: 0, count: 1, material: null}}]}};
            const scene = {{head: {{...head, meshes: [entry]}}, contents, shapeOf: () => 0, table: [{{kind: "mesh", mesh: 0}}]}};
            renderer.meshes.held.clear();
            renderer.meshes.setScene(scene, own);
            const {{geometry}} = renderer.meshes.held.get("a");
            kept.push([geometry.places?.length ?? null, geometry.normals?.length ?? null]);
        }}
        return kept;
    }}""",
        {},
    )
    assert found == [[None, None], [27, 27], [270009, 270009]]


def test_a_drawn_picture_leaves_the_renderer_busy_until_the_gpu_is_done(page):
    found = page.run(
        f"""async () => {{ {SPHERE}
        const before = renderer.isBusy;
        renderer.draw(asked);
        renderer.prepare();
        middle();  // waits for the GPU
        const untilMs = performance.now() + 10000;
        while (renderer.isBusy && performance.now() < untilMs) await new Promise((resolve) => setTimeout(resolve, 1));
        return [before, renderer.isBusy, renderer.gl.getError()];
    }}""",
        {},
    )
    assert found == [False, False, 0]


def test_a_browser_without_webgl2_gets_a_plain_text(page):
    with pytest.raises(Exception, match=r"offers no WebGL2.*hardware acceleration"):
        page.run('async () => new (await import("/renderer.js")).Renderer({getContext: () => null})', {})


def test_a_shader_that_does_not_compile_is_named_with_the_drivers_text(page):
    with pytest.raises(Exception, match=re.compile(r'vertex shader "boxes" does not compile: .*ERROR', re.DOTALL)):
        page.run(
            """async () => {
            const {openContext, Programs} = await import("/gpu.js");
            const programs = new Programs(openContext(document.createElement("canvas")));
            programs.get("boxes", {PARALLEL: "nonsense"}, []);
        }""",
            {},
        )

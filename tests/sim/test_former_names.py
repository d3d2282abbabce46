"""Each public name that changed: the former one works, gives one line with the new one, and is not listed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from twixt import Bodies, Button, Camera, Marks, OverlayFigure, OverlayText, Scene, Slider, Sphere, Toggle, show
from twixt.ipc.errors import TwixtError
from twixt.ipc.process import renamed
from twixt.ipc.scene.groups import rows_of_groups, rows_of_parents
from twixt.ipc.scene.scene import packed_scene, shape_list, with_camera, with_parents, with_shapes
from twixt.sim.show.view import View
from twixt.sim.world.world import World
from twixt.sim.world.world_guard import GuardedWorld


@pytest.fixture(autouse=True)
def no_name_was_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renamed, "_said", set())


@pytest.fixture
def view(capsys: pytest.CaptureFixture[str]) -> Iterator[View]:
    with show(Scene([Sphere()] * 2), viewer=False) as shown:
        capsys.readouterr()
        yield shown


SCENE = Scene([Sphere(), Sphere(2.0)], parents={1: 0}, look="flat", ground_z=3.0)
KICK, GRAVITY, WIND, BODIES = Button("kick", "air"), Slider("gravity", 1, 0, 5), Toggle("wind"), Bodies(2)
TEXT, BARS = OverlayText(text="a", value="b"), OverlayFigure((0, 0, 9, 9), [], kind="bars")
CARRIED, PARALLEL, PERSPECTIVE = Camera(rotates_with_body=False), Camera(orthographic_height=3), Camera()

# What has the attribute; its former name; its value by the new name; the new form.
ATTRIBUTES: list[tuple[Any, str, Any, str]] = [
    (KICK, "taken", KICK.pressed, "Button.pressed"),
    *((it, "fold", it.section, f"{type(it).__name__}.section") for it in (KICK, GRAVITY, WIND)),
    *(
        (it, name, getattr(it, f"_{name}"), f"{type(it).__name__}._{name}")
        for it in (KICK, GRAVITY, WIND)
        for name in ("set", "shown", "kind")
    ),
    (TEXT, "left", "a", "OverlayText.text"),
    (TEXT, "right", "b", "OverlayText.value"),
    (BARS, "are_bars", True, 'OverlayFigure.kind == "bars"'),
    (CARRIED, "turns", False, "Camera.rotates_with_body"),
    (PARALLEL, "orthographic", 3.0, "Camera.orthographic_height"),
    (PERSPECTIVE, "orthographic", False, "Camera.orthographic_height"),
    (SCENE, "ground", 3.0, "Scene.ground_z"),
    (SCENE, "unlit", False, 'Scene.look == "unlit"'),
    (SCENE, "is_plain", True, 'Scene.look != "lit"'),
    (SCENE, "is_outlined", True, 'Scene.look == "flat"'),
    (SCENE, "distinct_shapes", (Sphere(), Sphere(2.0)), "shape_list(scene).table"),
    (SCENE, "shape_index", shape_list(SCENE).rows, "shape_list(scene).rows"),
]


@pytest.mark.parametrize(
    ("instance", "name", "value", "new"), ATTRIBUTES, ids=[f"{type(row[0]).__name__}.{row[1]}" for row in ATTRIBUTES]
)
def test_a_former_attribute_works(
    instance: Any, name: str, value: Any, new: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert name not in dir(instance)
    assert np.all(getattr(instance, name) == value)
    assert np.all(getattr(instance, name) == value)
    assert capsys.readouterr().err == f"twixt: {type(instance).__name__}.{name} is now called {new}\n"


CAMERA = Camera((1, 2, 3))
METHODS: list[tuple[str, tuple[Any, ...], Any]] = [
    ("packed", (), packed_scene(SCENE)),
    ("to_bytes", (), packed_scene(SCENE).to_bytes()),
    ("with_camera", (CAMERA,), with_camera(SCENE, CAMERA)),
    ("with_children", ({0: 1},), with_parents(SCENE, {0: 1})),
    ("with_shapes", (shape_list(Scene()),), with_shapes(SCENE, shape_list(Scene()))),
    ("shape_rows", (3,), shape_list(SCENE).rows_for(3)),
    ("parent_rows", (3,), rows_of_parents(SCENE.parents, 3)),
    ("group_rows", (3,), rows_of_groups(SCENE.groups, 3)),
]


@pytest.mark.parametrize(("name", "arguments", "result"), METHODS, ids=[row[0] for row in METHODS])
def test_a_former_method_of_a_scene_works(
    name: str, arguments: tuple[Any, ...], result: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert name not in dir(SCENE)
    found = getattr(SCENE, name)(*arguments)
    if isinstance(result, Scene):
        found, result = packed_scene(found), packed_scene(result)
    assert np.all(found == result)
    assert capsys.readouterr().err.startswith(f"twixt: Scene.{name} is now called ")


@pytest.mark.parametrize(
    ("name", "new"),
    [
        ("closed_because", "close_reason"),
        ("users_camera", "user_camera"),
        ("actions", "_actions"),
        ("listen", "_listen"),
    ],
)
def test_a_former_attribute_of_a_view_works(
    view: View, name: str, new: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert name not in dir(view)
    assert getattr(view, name) == getattr(view, new)
    assert capsys.readouterr().err == f"twixt: View.{name} is now called View.{new}\n"


def marks(**given: Any) -> list[int]:
    made = Marks()
    made.add("sphere", np.zeros((2, 3)), size=0.1, **given)
    return made.records["key"].tolist()


def corrected(**given: Any) -> list[int]:
    bodies = Bodies(1)
    bodies.correct(0, (5, 0, 0), **given)
    return bodies.epoch.tolist()


def slider(**given: Any) -> str:
    return Slider("gravity", 1, 0, 5, **given).section


def scene(**given: Any) -> tuple[Any, ...]:
    made = Scene(**given)
    return made.ground_z, made.look


# The function; a former argument; the new argument; the new form.
ARGUMENTS: list[tuple[Callable[..., Any], dict[str, Any], dict[str, Any], str]] = [
    (slider, {"fold": "air"}, {"section": "air"}, "Slider(section=)"),
    (lambda **it: Toggle("a", **it).section, {"fold": "air"}, {"section": "air"}, "Toggle(section=)"),
    (lambda **it: Button("a", **it).section, {"fold": "air"}, {"section": "air"}, "Button(section=)"),
    (OverlayText, {"left": "a"}, {"text": "a"}, "OverlayText(text=)"),
    (OverlayText, {"right": "a"}, {"value": "a"}, "OverlayText(value=)"),
    *(
        (
            lambda **it: OverlayFigure((0, 0, 9, 9), [], **it).kind,
            {"are_bars": old},
            {"kind": new},
            'OverlayFigure(kind="bars")',
        )
        for old, new in ((True, "bars"), (False, "lines"))
    ),
    (Camera, {"turns": False}, {"rotates_with_body": False}, "Camera(rotates_with_body=)"),
    (Camera, {"orthographic": 8}, {"orthographic_height": 8}, "Camera(orthographic_height=)"),
    (Camera, {"orthographic": False}, {"orthographic_height": None}, "Camera(orthographic_height=)"),
    (scene, {"ground": None}, {"ground_z": None}, "Scene(ground_z=)"),
    (scene, {"unlit": True}, {"look": "unlit"}, 'Scene(look="unlit")'),
    (scene, {"unlit": False}, {"look": "lit"}, 'Scene(look="unlit")'),
    (marks, {"key": [7, 3]}, {"ids": [7, 3]}, "Marks.add(ids=)"),
    (corrected, {"cut_beyond": 1.0}, {"max_distance": 1.0}, "Bodies.correct(max_distance=)"),
]


@pytest.mark.parametrize(("call", "former", "given", "form"), ARGUMENTS, ids=[row[3] for row in ARGUMENTS])
def test_a_former_argument_works_and_not_beside_the_new_one(
    call: Callable[..., Any],
    former: dict[str, Any],
    given: dict[str, Any],
    form: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert call(**former) == call(**former) == call(**given)
    function = form.split("(")[0]
    assert capsys.readouterr().err == f"twixt: {function}({next(iter(former))}=) is now called {form}\n"
    with pytest.raises(TwixtError, match="got both; leave"):
        call(**former, **given)


def test_orthographic_true_is_the_height_that_the_angle_of_view_shows_at_the_target() -> None:
    camera: Any = Camera
    seen = camera((10, 0, 0), (0, 0, 0), fov_y_deg=90, orthographic=True).orthographic_height
    assert seen == pytest.approx(20)


def test_former_arguments_of_show_and_of_a_view_work(view: View, capsys: pytest.CaptureFixture[str]) -> None:
    any_view: Any = view
    controls = [
        any_view.slider("gravity", 1, 0, 5, fold="air"),
        any_view.toggle("wind", fold="air"),
        any_view.button("kick", fold="air"),
    ]
    assert [control.section for control in controls] == ["air"] * 3
    assert capsys.readouterr().err.splitlines() == [
        f"twixt: View.{name}(fold=) is now called View.{name}(section=)" for name in ("slider", "toggle", "button")
    ]
    any_show: Any = show
    with any_show(Scene([Sphere()]), count=7, viewer=False) as other:
        assert other._capacity == 7
    assert "twixt: show(count=) is now called show(capacity=)\n" in capsys.readouterr().err


def test_the_former_names_that_a_world_may_define_still_count(capsys: pytest.CaptureFixture[str]) -> None:
    class Old(World):
        way_out = "lower the gain"

        def __init__(self) -> None:
            self.bodies, self.scene, self.anything = Bodies(1), Scene([Sphere()]), 3

        def is_outdated(self) -> bool:
            return True

    guarded = GuardedWorld(Old(), Old, 0, print)
    assert guarded.is_outdated()
    assert guarded._way_out == "lower the gain"
    assert capsys.readouterr().err.splitlines() == [
        "twixt: World.way_out is now called World._way_out",
        "twixt: World.is_outdated is now called World._is_outdated",
    ]


@pytest.mark.parametrize(
    ("instance", "wrong", "right"),
    [
        (BODIES, "orientaton", "orientation"),
        (BODIES, "visibel", "visible"),
        (Marks(), "recods", "records"),
        (GRAVITY, "valeu", "value"),
        (WIND, "valeu", "value"),
        (KICK, "presed", "pressed"),
    ],
)
def test_a_misspelt_attribute_is_refused_with_the_right_one(instance: Any, wrong: str, right: str) -> None:
    said = f'^{type(instance).__name__} has no attribute "{wrong}"; did you mean "{right}"\\?$'
    with pytest.raises(AttributeError, match=said):
        setattr(instance, wrong, 1)


def test_a_misspelt_attribute_of_a_view_is_refused_and_the_view_goes_on(view: View) -> None:
    any_view: Any = view
    for wrong, right in (("camra", "camera"), ("scen", "scene")):
        with pytest.raises(AttributeError, match=f'^View has no attribute "{wrong}"; did you mean "{right}"'):
            setattr(any_view, wrong, None)
    view.publish(position=np.zeros((2, 3)))
    view.camera = CAMERA
    assert view.camera == CAMERA


def test_a_dataclass_is_replaced_by_a_former_name() -> None:
    replaced: Any = dataclasses.replace
    assert replaced(SCENE, ground=3.0).ground_z == 3.0
    assert replaced(Camera(), turns=False).rotates_with_body is False

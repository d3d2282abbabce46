"""Arguments that a public class or function does not have: one line, and the signature stays as it is."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import twixt
from twixt.ipc.errors import TwixtError, UnknownArgument, named_arguments, near_name

MARKS, BODIES = twixt.Marks(), twixt.Bodies(1)
CALLS: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    (
        twixt.Camera,
        {"fov": 60},
        "Camera has no argument 'fov'; did you mean fov_y_deg? It has eye, target, fov_y_deg, ",
    ),
    (twixt.Sphere, {"name": 1}, "Sphere has no argument 'name'; it has radius, color, material, label"),
    (twixt.Box, {"sizes": 1}, "Box has no argument 'sizes'; did you mean size? It has size, color, material"),
    (twixt.Plane, {"colour": 1}, "Plane has no argument 'colour'; did you mean color? It has size, color, material"),
    (twixt.Capsule, {"len": 1}, "did you mean length? It has radius, length, color, material"),
    (twixt.Cylinder, {"height": 1}, "it has radius, length, color, material"),
    (twixt.Ellipsoid, {"radii": 1}, "it has size, color, material"),
    (twixt.Compound, {"shapes": 1}, "it has parts"),
    (twixt.Part, {"pos": 1}, "did you mean position? It has shape, position, orientation"),
    (twixt.Mesh, {"vertex": 1}, "did you mean vertices? It has vertices, faces, normals, "),
    (twixt.Material, {"rough": 1}, "did you mean roughness? It has texture, repeat, "),
    (twixt.Texture, {"image": 1}, "it has pixels"),
    (twixt.Scene, {"cam": 1}, "did you mean camera? It has shapes, camera, "),
    (twixt.Group, {"delay": 1}, "did you mean delay_ms? It has bodies, interpolation, delay_ms"),
    (twixt.ColorBy, {"minimum": 1}, "it has column, low, high, low_color, high_color"),
    (
        twixt.Bodies,
        {"position": 1},
        "assign it after construction: bodies.position = ...; it has count, columns, scene",
    ),
    (twixt.Column, {"type": 1}, "did you mean dtype? It has dtype, width, "),
    (MARKS.add, {"pos": 1}, "Marks.add has no argument 'pos'; did you mean position? It has kind, position, to, "),
    (twixt.Surfaces, {"bodies": 1}, "Surfaces has no argument 'bodies'; it has scene, count"),
    (BODIES.spawn, {"pos": 1}, "Bodies.spawn has no argument 'pos'; did you mean position? It has position, "),
    (BODIES.teleport, {"rotation": 1}, "it has i, position, orientation, scale"),
    (BODIES.correct, {"distance": 1}, "did you mean max_distance? It has i, position, "),
    (twixt.Texture.checker, {"size": 1}, "did you mean size_px? It has first, second, size_px"),
    (twixt.Texture.gradient, {"low": 1}, "it has top, bottom, size_px"),
    (twixt.Mesh.height_field, {"height": 1}, "did you mean heights? It has heights, "),
    (twixt.Mesh.from_file, {"file": 1}, "it has path, "),
    (twixt.Slider, {"min": 0}, "it has name, value, low, high, "),
    (twixt.Toggle, {"on": 0}, "it has name, value, "),
    (twixt.Button, {"text": 0}, "it has name, "),
    (twixt.OverlayText, {"right_text": 0}, "It has place, text, value, size"),
    (twixt.OverlayImage, {"pixel": 0}, "did you mean pixels? It has rect, pixels"),
    (twixt.OverlayLine, {"point": 0}, "did you mean points? It has points, name, color"),
    (twixt.OverlayFigure, {"legend": 0}, "It has rect, lines, "),
]


@pytest.mark.parametrize(("call", "named", "says"), CALLS, ids=[call.__qualname__ for call, _, _ in CALLS])
def test_an_argument_that_there_is_not_is_named_with_the_nearest_and_all_there_are(
    call: Callable[..., Any], named: dict[str, Any], says: str
) -> None:
    with pytest.raises(UnknownArgument) as raised:
        call(**named)
    assert says.lower() in str(raised.value).lower()
    assert "\n" not in str(raised.value)
    assert isinstance(raised.value, TwixtError | TypeError)
    assert isinstance(pickle.loads(pickle.dumps(raised.value)), UnknownArgument)


def test_all_public_classes_that_take_arguments_are_in_the_list_above() -> None:
    classes = {getattr(twixt, name) for name in twixt.__all__ if isinstance(getattr(twixt, name), type)}
    made_by_twixt = {twixt.View, twixt.Event, twixt.UserEvent, twixt.Snapshot, twixt.DrawFrame}
    for_types = {twixt.ViewerOptions, twixt.DrawFunction, twixt.EventFunction, twixt.InterpolationMethod}
    without = {twixt.Marks, twixt.World, twixt.TwixtError, *made_by_twixt, *for_types}
    assert classes - without == {call for call, _, _ in CALLS if isinstance(call, type)}


@pytest.mark.parametrize("call", [call for call, _, _ in CALLS], ids=[call.__qualname__ for call, _, _ in CALLS])
def test_the_signature_is_the_one_that_is_written(call: Callable[..., Any]) -> None:
    kinds = {parameter.kind for parameter in inspect.signature(call).parameters.values()}
    assert not kinds & {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}


def test_other_type_errors_of_a_call_are_pythons_own() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'count'") as raised:
        twixt.Bodies()  # type: ignore[call-arg]
    assert not isinstance(raised.value, TwixtError)
    with pytest.raises(TypeError, match="multiple values for argument 'radius'"):
        twixt.Sphere(1.0, radius=1.0)  # type: ignore[misc]


def test_a_type_error_within_the_function_is_not_changed() -> None:
    class Own:
        @named_arguments
        def add(self, one: int) -> int:
            return one + "a"  # type: ignore[operator]

    with pytest.raises(TypeError, match="unsupported operand") as raised:
        Own().add(one=1)
    assert not isinstance(raised.value, TwixtError)


def test_a_name_far_from_all_others_has_no_nearest() -> None:
    assert near_name("weather", ["position", "color"]) == ""
    assert near_name("pos", ["color", "position"]) == "position"
    assert near_name("colour", ["color", "position"]) == "color"

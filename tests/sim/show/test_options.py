"""Options of a view: the keywords of `show` are the fields of `Config`, and unknown or wrong ones are refused."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from typing import Any

import pytest

import twixt
from twixt.ipc.config.flags import BOTH, VIEW, Config
from twixt.ipc.errors import TwixtError
from twixt.sim.show.options import ViewerOptions

OWN = ["scene", "dt", "capacity", "rate_hz", "columns", "name", "viewer"]
FLAGS = {field.name: field for field in dataclasses.fields(Config) if field.metadata.get("side") in (VIEW, BOTH)}


def type_of(name: str) -> str:
    """Of a field of `Config`. A path is taken, too, where the field names a file."""
    kind = str(FLAGS[name].type)
    return kind.replace("str", "str | os.PathLike[str]") if FLAGS[name].metadata["metavar"] == "FILE" else kind


def test_the_keywords_of_show_are_the_viewers_fields_of_the_configuration() -> None:
    keywords = inspect.signature(twixt.show).parameters
    assert list(keywords) == [*OWN, *FLAGS]
    assert {name: keywords[name].default for name in FLAGS} == {name: field.default for name, field in FLAGS.items()}
    assert {name: keywords[name].annotation for name in FLAGS} == {name: type_of(name) for name in FLAGS}


def test_viewer_options_are_the_keywords_of_show() -> None:
    options, keywords = typing.get_type_hints(ViewerOptions), typing.get_type_hints(twixt.show)
    assert options == {name: keywords[name] for name in ("name", "viewer", *FLAGS)}


def test_each_keyword_of_show_is_explained() -> None:
    explained = inspect.getdoc(twixt.show) or ""
    assert [name for name in inspect.signature(twixt.show).parameters if f"\n    {name}: " not in explained] == []


def test_an_unknown_option_is_a_type_error_with_the_option_that_was_meant() -> None:
    for kind in (TwixtError, TypeError):
        with pytest.raises(kind, match="^show has no option 'overlai'; did you mean \"overlay\""):
            twixt.show(twixt.Scene(), overlai=False)  # type: ignore[call-arg]
    with pytest.raises(TwixtError, match="^show has no option 'zzz'; there are scene, dt, capacity, rate_hz"):
        twixt.show(twixt.Scene(), zzz=1)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("wrong", "kind", "words"),
    [
        (
            {"rate_hz": 60, "dt": 0.01},
            ValueError,
            "show takes dt or rate_hz, got dt=0.01 and rate_hz=60; leave one out",
        ),
        ({"rate_hz": 0}, ValueError, "rate_hz must be publishes per simulated second, > 0 and <= 1e9, got 0"),
        ({"rate_hz": float("nan")}, ValueError, "rate_hz must be publishes per simulated second"),
        ({"rate_hz": "60"}, TypeError, "rate_hz must be publishes per simulated second"),
        ({"dt": -1}, ValueError, "dt must be seconds of simulated time per publish"),
        ({"dt": "fast"}, TypeError, "dt must be seconds of simulated time per publish"),
        ({"capacity": 1.5}, TypeError, "capacity must be a whole number of bodies"),
        ({"fps": -5}, ValueError, "--fps must be a finite number > 0, got -5"),
        ({"fps": "60"}, TypeError, "--fps must be a finite number > 0, got '60'"),
        ({"clock": "late"}, ValueError, "--clock must be one of auto"),
        ({"overlay": "no"}, TypeError, "--overlay must be True or False"),
        ({"camera": "stil"}, ValueError, "camera must be one of auto, still, got 'stil'"),
        ({"camera": 3}, TypeError, "camera must be one of auto, still, got 3"),
        (
            {"camera": twixt.Camera((6, 4, 3))},
            TypeError,
            "camera must be one of auto, still, got a Camera; give it to the scene: Scene(shapes, camera=Camera(...))",
        ),
    ],
)
def test_a_wrong_option_is_a_value_error_or_a_type_error(
    wrong: dict[str, Any], kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind) as refused:
        twixt.show(twixt.Scene(), viewer=False, **wrong)
    assert isinstance(refused.value, TwixtError)
    assert str(refused.value).startswith(words)


@pytest.mark.parametrize(
    ("given", "dt_ns"), [({}, 16_666_667), ({"rate_hz": 60}, 16_666_667), ({"rate_hz": 500}, 2_000_000)]
)
def test_a_rate_of_publishes_gives_the_time_from_one_to_the_next(given: dict[str, float], dt_ns: int) -> None:
    with twixt.show(twixt.Scene(), viewer=False, **given) as view:  # type: ignore[arg-type]
        for _ in range(2):
            view.publish(position=[(0, 0, 0)])
        assert view._now.sim_time_ns == dt_ns

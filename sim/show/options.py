"""Defines the options of a view: their types, their configuration, and the error for an unknown option.

Always: the fields of `Config` that concern a viewer are the keywords of `twixt.show` and the keys of `ViewerOptions`,
with the same types and defaults.
"""

from __future__ import annotations

import dataclasses
import inspect
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypedDict, TypeVar

from twixt.ipc.config.flags import BOTH, CAMERAS, VIEW, Config
from twixt.ipc.config.rules import ConfigTypeError, SplitSide, is_switch
from twixt.ipc.errors import DISPLAY_VARIABLES, InvalidType, InvalidValue, refusal, refusing_unknown, text_of
from twixt.ipc.process.user_code import suggestion_for
from twixt.ipc.scene import Camera

# Editors know the parameters of a decorated function if the decorator returns the type that it takes.
Function = TypeVar("Function", bound=Callable[..., Any])

# Names of the fields of `Config` that a program may set for its view.
FLAGS = tuple(field.name for field in dataclasses.fields(Config) if field.metadata.get("side") in (VIEW, BOTH))


ViewerKind = Literal["window", "web", "none"]
ViewerChoice = bool | Literal["window", "web", "auto"]
# Environment variable that replaces the argument `viewer` of `twixt.show`, and its values.
VIEWER_VARIABLE, VIEWER_VALUES = "TWIXT_VIEWER", ("window", "web", "auto", "none")


class CommonOptions(TypedDict, total=False):
    """The options that `twixt.show` and `mujoco_viewer.launch_passive` have in common, with the same types."""

    name: str | None
    viewer: ViewerChoice
    interpolation: str
    chase_ms: float | None
    clock: str
    prefer: str
    buffer_ms: float | None
    split: tuple[SplitSide, SplitSide] | None
    trails: bool | float | str | None
    pacing: str
    fps: float | None
    quality: str
    size_px: tuple[int, int]
    camera: str
    overlay: bool
    keys: bool
    draw: str | None
    on_event: str | None
    slow_render_ms: float
    viewer_nice: int
    offscreen: bool
    seconds: float | None
    screenshot: str | os.PathLike[str] | None
    at_s: float | None
    log: str | os.PathLike[str] | None
    profile: str | os.PathLike[str] | None


class ViewerOptions(CommonOptions, total=False):
    """Options of a view that a function passes to `twixt.show` or `mujoco_viewer.launch_passive`.

    Each option has the name, the type and the meaning of an argument of `twixt.show`. The type `ViewerOptions` is only
    for type checkers and editors.

    Examples:
        ```python
        from typing import Unpack  # Python 3.11 and later
        import twixt

        def main(**options: Unpack[twixt.ViewerOptions]) -> None:
            with twixt.show(twixt.Scene([twixt.Sphere()]), **options) as view:
                for t in view.real_time():
                    view.publish(position=(t, 0, 1))

        main(seconds=1, overlay=False)
        ```
    """

    events: bool


class PassiveOptions(CommonOptions, total=False):
    """Options of `mujoco_viewer.launch_passive`. Those of `ViewerOptions`, but `events` may also be "contacts"."""

    events: bool | Literal["contacts"]


def config_of(name: str, flags: Mapping[str, Any], web: bool = False) -> Config:
    """Returns the configuration of a view. flags: a value for each name in `FLAGS`. web: see `Config`. Raises ConfigError for a value that
    breaks a rule, and for a result file that cannot be written."""
    if isinstance(flags["camera"], Camera):
        raise ConfigTypeError(
            f"camera must be one of {', '.join(CAMERAS)}, got a Camera; give it to the scene: "
            "Scene(shapes, camera=Camera(...))"
        )
    config = Config(**flags, name=name, world="show", command=" ".join(["python", *sys.argv]), web=web, users_loop=True)
    config.check_files()
    return config


def viewer_kind(viewer: ViewerChoice) -> ViewerKind:
    """Returns the kind of viewer that the argument `viewer` of `twixt.show`, or the environment, chooses. Raises
    InvalidValue or InvalidType for an unknown kind."""
    chosen: Any = os.environ.get(VIEWER_VARIABLE) or viewer
    if chosen is not viewer and chosen not in VIEWER_VALUES:
        raise InvalidValue(
            f"the environment variable {VIEWER_VARIABLE} must be one of {', '.join(VIEWER_VALUES)}, got {chosen!r}"
        )
    if chosen == "auto":
        return "window" if not DISPLAY_VARIABLES or any(map(os.environ.get, DISPLAY_VARIABLES)) else "web"
    if chosen is not viewer or chosen in ("window", "web"):
        return chosen
    if not is_switch(chosen):
        raise refusal(chosen, bool, str)(
            f'viewer must be True, False, "window", "web" or "auto", got {text_of(chosen)}'
        )
    return "window" if chosen else "none"


def refusing_unknown_options(function: Function) -> Function:
    """Decorator. A call with an option that `function` does not have raises InvalidType, with the most similar option.
    Python's own TypeError has no suggestion."""
    known = inspect.signature(function).parameters

    def error_for(option: str) -> InvalidType:
        hint = suggestion_for(option, known) or f"there are {', '.join(known)}"
        return InvalidType(f"{function.__name__} has no option {option!r}; {hint}")

    return refusing_unknown(function, known, error_for)  # type: ignore[no-any-return]

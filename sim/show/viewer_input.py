"""Receives the input of a view's viewers: events, forces, moved cameras and controls. Sends texts, images and figures
for the viewers' overlay.

Always: no call blocks. An event is yielded once. An event that is not read is dropped after 256 newer events. A force
ends when its user stops dragging or the viewer ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twixt.ipc.errors import TwixtError, named_arguments
from twixt.ipc.interaction import overlay
from twixt.ipc.interaction.controls import (
    FORMER_ARGUMENTS,
    SECTION,
    Button,
    Control,
    Slider,
    Toggle,
    checked_controls,
    set_value,
    to_status,
)
from twixt.ipc.interaction.events import UserEvent
from twixt.ipc.interaction.overlay import (
    OverlayFigure,
    OverlayImage,
    OverlayText,
    checked_figures,
    checked_images,
    checked_texts,
    texts_as_message,
)
from twixt.ipc.process.renamed import former_arguments
from twixt.ipc.scene import Camera
from twixt.ipc.session.host import Host
from twixt.ipc.session.viewers import ReceivedActions
from twixt.sim.show.draggable import DraggableBody, draggable_body
from twixt.sim.show.keys import Keys

Forces = dict[int, tuple[NDArray[np.float64], NDArray[np.float64]]]


class LoopStatus:
    """Status of a user's own loop, which viewers receive. controls: the controls that the loop offers."""

    def __init__(self, host: Host) -> None:
        self._host, self._fields = host, {}  # type: Host, dict[str, Any]
        self.controls: tuple[Control, ...] = ()
        self.are_values_stale = False  # True if the program has changed a value that was not sent to viewers yet.

    def set_controls(self, controls: tuple[Control, ...]) -> None:
        """Sets the controls and sends them to viewers. Values that the program assigns later are sent by
        `send_controls`."""
        self.controls = controls
        for control in controls:
            if not isinstance(control, Button):
                control.on_change = self._note_change
        self.send_controls()

    def set_value(self, index: int, value: float) -> None:
        """Sets a control to a value from a viewer. Does nothing if the control no longer exists."""
        if index < len(self.controls):
            set_value(self.controls[index], value)
            self.send_controls()

    def set_fields(self, **fields: Any) -> None:
        """Sets these fields of the status that viewers receive."""
        self._fields |= fields
        self._host.set_status(self._fields)

    def _note_change(self) -> None:
        self.are_values_stale = True

    def send_controls(self) -> None:
        """Sends the controls with their current values to viewers."""
        # `are_values_stale` is reset before the controls are sent, because another thread may assign a value during
        # the call.
        self.are_values_stale = False
        self.set_fields(controls=to_status(self.controls))


class ViewerInput:
    """The actions of the users of all viewers that are attached to one view. bodies: number of bodies while nothing is
    published."""

    def __init__(self, host: Host, status: LoopStatus, bodies: int) -> None:
        self._most_bodies = bodies
        self._host, self._status = host, status
        self._listens = False
        self._keys = Keys(host, status.set_fields)

    def events(self) -> Iterator[UserEvent]:
        """Yields the user events since the last call: keys, clicks on bodies, and requests for a reset.

        Keys on which the viewer itself acts are left out. The viewer does not act on a key that the program has asked
        for with `View.keys`. With `keys=False` it acts on no key. The view keeps only the newest 256 events that you
        have not read.

        Yields:
            Each event once; see `UserEvent`.
        """
        self._listen()
        while (event := self._host.actions.next_event()) is not None:
            if not event.is_viewers:
                yield event

    def forces(self) -> Forces:
        """Forces on the bodies that users drag with Ctrl held.

        The force is that of a spring between the body and the pointer, for a body with the density of water. Scale it
        to the mass of your body. Bodies that are `draggable` get no force.

        Returns:
            A dict from the index of a body's record to a force, (3,) in N, and a torque about the body's position,
            (3,) in N m. The dict is empty while nobody drags a body. Force and torque are float64, in the world frame.
        """
        found: Forces = {}
        for pull in self._host.actions.pulls:
            if pull.body is None or not pull.is_held or pull.body in self._host.actions.dragged:
                continue
            force, torque = found.get(pull.body, (np.zeros(3), np.zeros(3)))
            found[pull.body] = force + pull.force, torque + pull.torque
        return found

    @property
    def controls(self) -> tuple[Control, ...]:
        """Sliders, switches and buttons in the overlay.

        `publish` and `is_open` apply the values that users have set. `publish` and `is_open` also send the values that
        the program has assigned, at most five times a second. Assign a list of `Slider`, `Toggle` and `Button` to
        replace all controls.

        Raises:
            TwixtError: The assigned value is not a list of controls, or it has more than 192 controls.
        """
        return self._status.controls

    @controls.setter
    def controls(self, controls: Sequence[Control]) -> None:
        self._status.set_controls(checked_controls(controls, "View.controls"))

    @former_arguments(FORMER_ARGUMENTS, "View.slider")
    @named_arguments
    def slider(self, name: str, value: float, low: float, high: float, section: str = SECTION) -> Slider:
        """Adds a slider to the overlay.

        The loop reads and assigns `.value`. Reading `.value` is as fast as reading a plain attribute.

        Args:
            name: Text beside the slider.
            value: Value at the start, from `low` to `high`.
            low: Smallest value.
            high: Largest value.
            section: Title of the section of the overlay.

        Returns:
            The slider.

        Raises:
            TwixtError: The value is outside the range, the section has another control of this name, or the view is
                closed.
        """
        slider = Slider(name, value, low, high, section)
        self._offer_one_more(slider)
        return slider

    @former_arguments(FORMER_ARGUMENTS, "View.toggle")
    @named_arguments
    def toggle(self, name: str, value: bool = False, section: str = SECTION) -> Toggle:
        """Adds a switch to the overlay.

        Args:
            name: Text beside the switch.
            value: True if the switch is on at the start.
            section: Title of the section of the overlay.

        Returns:
            The switch. The switch's `.value` is True or False.

        Raises:
            TwixtError: The section has another control of this name, or the view is closed.
        """
        toggle = Toggle(name, value, section)
        self._offer_one_more(toggle)
        return toggle

    @former_arguments(FORMER_ARGUMENTS, "View.button")
    @named_arguments
    def button(self, name: str, section: str = SECTION) -> Button:
        """Adds a button to the overlay.

        Args:
            name: Text on the button.
            section: Title of the section of the overlay.

        Returns:
            The button. The button's `.pressed()` is True once after the user has pressed the button.

        Raises:
            TwixtError: The section has another control of this name, or the view is closed.
        """
        button = Button(name, section)
        self._offer_one_more(button)
        return button

    def _offer_one_more(self, control: Control) -> None:
        if self._host.is_ended:
            raise TwixtError(
                f"this view is closed, so it can offer no {control._kind} {control.name!r}; open another with "
                "twixt.show(scene)"
            )
        if any((other.name, other.section) == (control.name, control.section) for other in self.controls):
            raise TwixtError(
                f"this view has a control {control.name!r} in the section {control.section!r}; give another name, or "
                "assign view.controls to replace all"
            )
        self.controls = (*self.controls, control)

    def set_texts(self, texts: Iterable[OverlayText]) -> None:
        """Shows texts over the picture. The new texts replace the texts of the last call.

        Viewers get the newest texts, at most five times a second.

        Args:
            texts: One text, or several texts. () removes all texts. Only the first 32 texts are shown.

        Raises:
            TwixtError: `texts` contains an object that is not an `OverlayText`. The error is also a TypeError.

        Examples:
            ```python
            import twixt

            with twixt.show(twixt.Scene([twixt.Sphere()]), dt=1 / 60) as view:
                for t in view.real_time():
                    view.set_texts(twixt.OverlayText("top right", "time", f"{t:.1f} s"))
                    view.publish(position=(t, 0, 1))
            ```
        """
        shown = checked_texts("View.set_texts", texts)
        self._status.set_fields(texts=texts_as_message(shown))

    def set_images(self, images: Iterable[OverlayImage]) -> None:
        """Shows images over the picture. The new images replace the images of the last call.

        Viewers get the newest images, at most 30 times a second.

        Args:
            images: One image, or up to 32 images with at most 8 MiB of pixels together. () removes all images. The
                pixels are copied, so you may change your arrays after the call.

        Raises:
            TwixtError: `images` contains an object that is not an `OverlayImage`, or there are too many images or
                bytes.
        """
        shown = checked_images("View.set_images", images)
        self._host.write_overlay("images", *overlay.images_as_message(shown))

    def set_figures(self, figures: Iterable[OverlayFigure]) -> None:
        """Shows figures over the picture. The new figures replace the figures of the last call.

        Viewers get the newest figures, at most 10 times a second.

        Args:
            figures: One figure, or up to 16 figures with at most 262,144 points together. () removes all figures.

        Raises:
            TwixtError: `figures` contains an object that is not an `OverlayFigure`, or there are too many figures or
                points.
        """
        shown = checked_figures("View.set_figures", figures)
        self._host.write_overlay("figures", *overlay.figures_as_message(shown))

    @property
    def size_px(self) -> tuple[int, int] | None:
        """Width and height of the viewer's window, in pixels. None before the viewer has reported the size."""
        look = self._host.actions.look
        return None if look is None else look.size_px

    @property
    def user_camera(self) -> Camera | None:
        """Camera of the view that a user has chosen by moving the view.

        None if no user has moved the view since the last assignment to `camera`.
        """
        moved = self._host.actions.moved
        return moved.camera if moved is not None and moved.camera_version == self._host.camera.version else None

    @property
    def _actions(self) -> ReceivedActions:
        """All user actions that were received, for code that reads them directly instead of `events` and `forces`."""
        return self._host.actions

    def _listen(self) -> None:
        """Tells viewers that this program reads events."""
        if not self._listens:
            self._listens = True
            self._status.set_fields(listens=True)

    @property
    def keys(self) -> Keys:
        """Keys by name: `view.keys.held("left")`, `view.keys.pressed("space")`; see `Keys`."""
        return self._keys

    def draggable(self, body: int, position: ArrayLike | None = None) -> DraggableBody:
        """Lets users drag a body with the left mouse button, with or without Ctrl.

        A draggable body is left out of `forces`. A second call for the same body returns an object with the same
        position. A view may have 10,000 draggable bodies.

        Args:
            body: Index of the body's record.
            position: Position of the body at first, (3,) in metres. By default the position that was published last.

        Returns:
            The body. The result's `.position` is the point to which the user has dragged the body. Publish this
            position.

        Raises:
            TwixtError: The body does not exist, too many bodies are draggable, or the view is closed. The error also
                comes if `position` is None and no position of the body was published.
        """
        if self._host.is_ended:
            raise TwixtError("this view is closed, so no body can be dragged; open another with twixt.show(scene)")
        made = draggable_body(self._host, body, self._most_bodies, position)
        self._status.set_fields(draggable=sorted(self._host.actions.dragged))
        return made

"""How a viewer comes up, in the order in which its user waits: the window, the world, then everything else.

The one idea: what is imported and what the display does are different work, so the imports run beside the opening
of the window; what the first frame does not draw with is loaded and made after it.

Always: no thread is left half way through an import when the process ends, which crashes the interpreter.
"""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, Any

from twixt.ipc import spans as kinds
from twixt.ipc import start
from twixt.render.controls import bound
from twixt.render.input import Event, Key
from twixt.render.link_to_be import LinkToBe

if TYPE_CHECKING:
    from twixt.ipc.config import Config
    from twixt.ipc.link import Link
    from twixt.ipc.spans import Spans
    from twixt.render.frame_loop import FrameLoop
    from twixt.render.measure.frames import FrameRow

# From the last of start-up's work until frames count: viewer and physics get to know each other's pace.
SETTLING_NS = 500_000_000
# Drawing programs are made ahead of a change of method for so long: milliseconds each, but for a machine that has never
# made them, which keeps what it made for the next time. What is left is made when it is wanted.
PREPARING_NS = 500_000_000
# Of a frame's own work, what preparing may add to it, where that is more than one program: with frames of half a second
# there are not many.
PREPARING_SHARE = 0.25
# How long one look at the window takes while physics is still loading its world.
START_POLL_S = 0.02
# A run's own viewer waits for its world however long that loads: its window can be closed meanwhile, and where physics
# dies the kernel says so at once. A day.
OWN_WORLD_S = 86_400.0
# While one thread imports, and another opens a window or makes frames, the one that comes back from the display waits so
# long for its turn. Python's own 5 ms, some twenty times, would cost more than the second thread brings.
TURN_S = 0.0002


class ShortTurns:
    """Threads of this process take turns of `TURN_S` from the making of one until the closing of the last."""

    _lock = threading.Lock()
    _open = 0
    _usual_s = sys.getswitchinterval()

    def __init__(self) -> None:
        self._is_open = True
        with ShortTurns._lock:
            if not ShortTurns._open:
                ShortTurns._usual_s = sys.getswitchinterval()
                sys.setswitchinterval(TURN_S)
            ShortTurns._open += 1

    def close(self) -> None:
        """May be called again."""
        with ShortTurns._lock:
            was_open, self._is_open = self._is_open, False
            ShortTurns._open -= was_open
            if was_open and not ShortTurns._open:
                sys.setswitchinterval(ShortTurns._usual_s)


class Loading(threading.Thread):
    """Imports, on a thread of its own, what every viewer draws with."""

    def __init__(self) -> None:
        super().__init__(name="imports", daemon=True)
        self._turns = ShortTurns()
        self.start()

    def run(self) -> None:
        """A module that cannot be imported is told of by whoever wants it next."""
        try:
            import twixt.ipc.link
            import twixt.render.frame_loop  # noqa: F401
        except Exception:
            pass

    def finish(self) -> None:
        """Waits for it. May be called again."""
        self.join()
        self._turns.close()


def says_words(config: Config) -> bool:
    """Whether the picture will have words in it from the start."""
    return config.overlay or config.draw is not None or config.split is not None


def _load_what_draws_words() -> None:
    with closing(ShortTurns()):
        try:
            import twixt.render.overlay.panel
            import twixt.render.overlay.words  # noqa: F401
        except Exception:
            pass


class OnDemand:
    """What draws words and panels, imported on a thread of its own as soon as somebody asks whether it is there."""

    def __init__(self) -> None:
        self._loading: threading.Thread | None = None

    @property
    def is_there(self) -> bool:
        """Whether importing it now takes no time."""
        if self._loading is None:
            self._loading = threading.Thread(target=_load_what_draws_words, name="words", daemon=True)
            self._loading.start()
        return not self._loading.is_alive()

    def close(self) -> None:
        """Waits for it."""
        if self._loading is not None:
            self._loading.join()

    def _load(self) -> None:
        pass


class Attaching(LinkToBe):
    """The link to be, or why there is none; physics answers once it has made its world."""

    def __init__(self, name: str | None, owned: bool) -> None:
        self._name, self._owned = name, owned
        super().__init__("attach")

    def _search(self) -> Link:
        try:
            from twixt.ipc.link import ATTACH_PATIENCE_S, attach

            return attach(self._name, OWN_WORLD_S if self._owned else ATTACH_PATIENCE_S, self._owned)
        except BaseException:
            if self._owned and self._name is not None:
                from twixt.ipc import door

                door.tidy(self._name)  # physics that was killed before this viewer found it left the file of its name
            raise


def attached(attaching: LinkToBe, window: Any, early: list[Event], is_asked_to_stop: Callable[[], bool]) -> Link | None:
    """The link; meanwhile the window stays alive. None: closed before. What the user does is added to `early`."""
    is_there = False
    while not is_there:
        is_there = attaching.wait(START_POLL_S)
        early += window.poll()
        is_left = any(isinstance(event, Key) and bound(event) == "Esc" for event in early)
        if window.should_close or is_left or is_asked_to_stop():
            return None  # whoever ends this viewer may have closed the door behind it: that is no news
    return attaching.link


class StartUp:
    """What is put off until the world is on the screen: the overlay's library, and a picture that has settled."""

    def __init__(self, config: Config, spans: Spans) -> None:
        self._config, self._spans = config, spans
        self._load_begin_ns = self._load_end_ns = 0
        self._loading: threading.Thread | None = None
        self._loaded_ns: int | None = None
        self._preparing_since_ns: int | None = None

    def is_over(self, row: FrameRow, loop: FrameLoop) -> bool:
        """To be asked after each frame."""
        if row.mode == "none":
            return False
        if self._loading is None:
            start.ended("viewer_picture")
            self._loading = threading.Thread(target=self._load, name="overlay", daemon=True)
            self._loading.start()
            loop.begin_anew("the first picture is there")
        if self._loading.is_alive():
            return False
        if self._config.overlay and self._loaded_ns is None and loop.over.panel is None:
            loop.over.make_panel()
            return False
        if self._prepare(row, loop):
            return False
        if self._loaded_ns is None:
            self._spans.add(kinds.LOAD, self._load_begin_ns, self._load_end_ns)
            gc.freeze()  # of all that was imported nothing is garbage worth a frame's time
            loop.begin_anew()
            self._loaded_ns = row.present_ns
        return row.present_ns - self._loaded_ns > SETTLING_NS

    def close(self) -> None:
        """The interpreter must not go away under a half-made import: it crashes there."""
        if self._loading is not None:
            self._loading.join()

    def _prepare(self, row: FrameRow, loop: FrameLoop) -> bool:
        """True while there is something to prepare, and time for it."""
        if self._loaded_ns is not None:
            return False
        now_ns = time.perf_counter_ns()
        if self._preparing_since_ns is None:
            self._preparing_since_ns = now_ns
        ends_ns = self._preparing_since_ns + PREPARING_NS
        until_ns = min(ends_ns, now_ns + round(PREPARING_SHARE * (row.work_end_ns - row.start_ns)))
        is_more = now_ns < ends_ns
        while is_more:
            is_more = loop.stage.renderer.prepare()
            loop.stage.renderer.finish()  # drivers put the work off until then
            if time.perf_counter_ns() >= until_ns:
                break
        return is_more

    def _load(self) -> None:
        """What may be wanted at any time from now on: a frame must not wait for it."""
        self._load_begin_ns = time.perf_counter_ns()
        with closing(ShortTurns()):
            import twixt.render.interpolation.method
            import twixt.render.trails  # noqa: F401
        if says_words(self._config):
            _load_what_draws_words()
        self._load_end_ns = time.perf_counter_ns()

"""A viewer that belongs to a run, as the process that was started for it.

The one idea: it is started before anybody knows what it will show, and loads what every viewer needs until it is
told so, in a line on its standard input. Where nobody tells it, the command was refused, and it ends without a word.

Always: physics' door was open before this viewer was told of it, so where nobody answers there, physics has gone. It
says why itself while it is still there; else this viewer does.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, NamedTuple

import twixt
from twixt.ipc import start
from twixt.ipc.errors import NoDisplay, TwixtError
from twixt.render.outcome import say_code
from twixt.render.start_up import Loading

if TYPE_CHECKING:
    from twixt.ipc.config import Config

# From when the kernel has closed what a dying process had open until the process itself is gone.
DYING_S = 0.1


def view_as_child() -> int:
    """Waits to be told; the exit code, which is also said to who told it: not every process learns those of children."""
    try:
        code = _view()
    except TwixtError as error:
        say_code(error.exit_code)
        raise
    say_code(code)
    return code


def _view() -> int:
    start.ended("viewer_interpreter", twixt.STARTED_NS)
    _write_from_the_background()
    gc.disable()  # of all that is imported nothing is garbage
    loading = OwnedLoading()
    from twixt.render.loop import view

    told = sys.stdin.readline()
    if not told:
        os._exit(0)  # there is nothing to finish, and the imports may take their time
    try:
        order = _read(told)
        start.ended("viewer_spawn", order.spawned_ns)
        start.ended("viewer_config")
        if order.config.profile is None:  # a trace is whole however the run ends
            loading.watch(order.name, order.pid)
        try:
            return view(order.config, order.name, owned=os.environ.get("TWIXT_OWNED") == "1", loading=loading)
        except NoDisplay as error:  # whoever started this viewer says so
            return error.exit_code
        except TwixtError:
            if _answers(order.name):
                raise
            return _without_physics(order.pid)
    finally:
        loading.finish()


def _write_from_the_background() -> None:
    """A viewer in a process group of its own is in its terminal's background, where `stty tostop` would stop it at the
    first word it writes. Ignored, the word is written."""
    if hasattr(signal, "SIGTTOU") and os.getpgrp() == os.getpid():
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)


class _Order(NamedTuple):
    """What a run tells its viewer."""

    config: Config
    name: str
    pid: int
    spawned_ns: int


def _read(told: str) -> _Order:
    from twixt.ipc.config import Config

    try:
        fields = json.loads(told)
        pid, spawned_ns = int(fields["pid"]), int(fields["spawned_ns"])
        return _Order(Config.from_json(fields["config"]), str(fields["name"]), pid, spawned_ns)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        raise TwixtError("_view is how a run starts a viewer of its own; start one yourself with: twixt view") from None


class OwnedLoading(Loading):
    """Imports, and ends the process meanwhile where physics dies: opening a window takes as long as all the rest."""

    def __init__(self) -> None:
        self._is_over, self._deciding = False, threading.Lock()
        super().__init__()

    def finish(self) -> None:
        with self._deciding:
            self._is_over = True
        super().finish()

    def watch(self, name: str, pid: int) -> None:
        """pid: of the simulation `name`, which started this process. Elsewhere than on Linux nothing is watched."""
        if hasattr(os, "pidfd_open"):
            threading.Thread(target=self._end_with, args=(name, pid), name="physics", daemon=True).start()

    def _end_with(self, name: str, pid: int) -> None:
        try:
            _wait_for_end(pid)
        except (OSError, OverflowError):  # nothing to watch it with
            return
        with self._deciding:
            if not self._is_over:
                _answers(name)  # removes the file of the name
                os._exit(_say_lost())


def _wait_for_end(pid: int) -> None:
    """Until the process has died, whether or not somebody has waited for it."""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    poller = select.poll()
    poller.register(process, select.POLLIN)
    poller.poll()
    os.close(process)


def _answers(name: str) -> bool:
    from twixt.ipc.door import tidy

    return not tidy(name)


def _without_physics(pid: int) -> int:
    """The end of a viewer that never attached; the exit code."""
    time.sleep(DYING_S)
    return 0 if os.getppid() == pid else _say_lost()


def _say_lost() -> int:
    from twixt.ipc.link import LOST
    from twixt.render.outcome import of_simulation

    outcome = of_simulation(LOST, owned=True)
    print(f"twixt: {outcome.said}", file=sys.stderr, flush=True)
    return outcome.exit_code

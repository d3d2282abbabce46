"""Entry of a viewer process that a run has started for itself. The hidden command `_view` starts this process.

The process starts before its config is known. It imports what every viewer needs, until a line on standard input
brings the config. If standard input ends without a line, the run's command was refused, and this process ends
silently.

Always: the physics process accepts connections before this viewer receives the name of the simulation. So if nothing
answers under that name, the simulation has ended. If the physics process still runs, it prints the reason itself. Else
this viewer prints the reason.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
import time

import twixt
from twixt.ipc.errors import NoDisplay, TwixtError
from twixt.ipc.process.notices import print_notice
from twixt.ipc.process.viewer_order import read_order, sending_exit_code, write_from_the_background
from twixt.ipc.system import children
from twixt.ipc.trace import spans
from twixt.render.viewer.start_up import Loading

# Longest time, in seconds, that a dying process still exists after the kernel has closed its descriptors.
DYING_S = 0.1


def view_as_child(owned: bool) -> int:
    """Waits for the message of the run, and runs the viewer that the message describes. Returns the exit code, and
    also sends it to the run (see `send_exit_code`). owned: True if the end of this viewer ends the run. Raises
    TwixtError, or ImportError if a package is missing."""
    return sending_exit_code(lambda: _view(owned))


def _view(owned: bool) -> int:
    spans.end_start_part("viewer_interpreter", twixt._STARTED_NS)
    write_from_the_background()
    gc.disable()  # imported objects are not garbage
    loading = OwnedLoading()
    from twixt.render.viewer.process import view

    told = sys.stdin.readline()
    if not told:
        os._exit(0)  # nothing is left to do, and the imports may still take long
    try:
        order = read_order(told)
        spans.end_start_part("viewer_spawn", order.spawned_ns)
        spans.end_start_part("viewer_config")
        if order.config.profile is None:  # with a profile, the trace must still be written
            loading.watch(order.name, order.pid)
        try:
            return view(order.config, order.name, owned=owned, loading=loading)
        except NoDisplay as error:  # the run prints the reason
            return error.exit_code
        except TwixtError:
            if _answers(order.name):
                raise
            return _without_physics(order.pid)
    finally:
        loading.finish()


class OwnedLoading(Loading):
    """Imports the modules. Ends the process if the physics process dies before `finish` is called. `finish` is called
    when the window is open. Opening the window takes as long as the rest of the start."""

    def __init__(self) -> None:
        self._is_over, self._deciding = False, threading.Lock()
        super().__init__()

    def finish(self) -> None:
        with self._deciding:
            self._is_over = True
        super().finish()

    def watch(self, name: str, pid: int) -> None:
        """Begins to watch the physics process. name: name of the simulation. pid: id of the physics process, which
        started this process."""
        threading.Thread(target=self._end_with, args=(name, pid), name="physics", daemon=True).start()

    def _end_with(self, name: str, pid: int) -> None:
        try:
            children.wait_for_end(pid)
        except (OSError, OverflowError):  # the system cannot wait for that process
            return
        with self._deciding:
            if not self._is_over:
                _answers(name)  # removes the socket file of the simulation
                os._exit(_say_lost())


def _answers(name: str) -> bool:
    from twixt.ipc.session.listener import tidy

    return not tidy(name)


def _without_physics(pid: int) -> int:
    """Exit code of a viewer that never attached. Prints the reason if the physics process has ended. The physics
    process need not be the parent of this process. The viewer of a frozen program may be a grandchild."""
    try:
        has_ended = children.wait_for_end(pid, DYING_S)
    except (OSError, OverflowError):
        time.sleep(DYING_S)
        has_ended = os.getppid() != pid
    return _say_lost() if has_ended else 0


def _say_lost() -> int:
    from twixt.ipc.session.link import LOST
    from twixt.render.viewer.outcome import of_simulation

    outcome = of_simulation(LOST, owned=True)
    print_notice(outcome.message)
    return outcome.exit_code

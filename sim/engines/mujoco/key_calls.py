"""Calls the `key_callback` of a passive viewer with the codes of pressed keys, on a thread of its own.

Always: all keys pressed in a window are passed, also those that the viewer uses, as MuJoCo's own viewer does. The
callback is called without any lock of ours, so that it may take the handle's. If it raises, its traceback is printed
and later keys are passed; `sys.exit` cannot end the program from here, which is said. The thread ends with the view, whose reference it does not hold.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from twixt.ipc.interaction.user_actions import KEY, PRESS
from twixt.ipc.process.notices import print_current_exception, print_notice
from twixt.ipc.session.received_actions import ReceivedActions

NO_EXIT = (
    "key_callback called sys.exit, which does not end the program from the callback's thread; call viewer.close() "
    "there, and let the loop go on while viewer.is_running()"
)


def call_on_keys(callback: Callable[[int], None], users: ReceivedActions) -> threading.Thread:
    """Starts the thread. callback: called with GLFW's code of each key that is pressed."""
    thread = threading.Thread(target=_pass_keys, args=(callback, users), name="twixt keys", daemon=True)
    thread.start()
    return thread


def pass_waiting(callback: Callable[[int], None], users: ReceivedActions) -> None:
    """Passes the keys that were pressed since the last call."""
    while (event := users.next_event()) is not None:
        if event.name != KEY or event.action != PRESS:
            continue
        try:
            callback(event.key)
        except SystemExit:
            print_notice(NO_EXIT)
        except Exception:
            print_current_exception()


def _pass_keys(callback: Callable[[int], None], users: ReceivedActions) -> None:
    while users.wait():
        pass_waiting(callback, users)

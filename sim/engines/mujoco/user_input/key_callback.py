"""Calls the `key_callback` of a passive viewer with the codes of pressed keys, on a separate thread.

Always: as with MuJoCo's own viewer, the callback gets all keys that are pressed in a window, including the keys that
the viewer itself uses. No lock is held during a call, so the callback may acquire the handle's lock. If the callback
raises an exception, the traceback is printed, and later keys are still passed. `sys.exit` in the callback does not
end the program; a message reports this. The thread holds no reference to the view, and ends when the view ends.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from twixt.ipc.interaction.events import KEY, PRESS
from twixt.ipc.process.notices import print_current_exception, print_notice
from twixt.ipc.session.viewers import ReceivedActions

NO_EXIT = (
    "key_callback called sys.exit, which does not end the program from the callback's thread; call viewer.close() "
    "there, and let the loop run while viewer.is_running()"
)


def call_on_keys(callback: Callable[[int], None], users: ReceivedActions) -> threading.Thread:
    """Starts the thread. callback: function that is called with the GLFW code of each pressed key."""
    thread = threading.Thread(target=_pass_keys, args=(callback, users), name="twixt keys", daemon=True)
    thread.start()
    return thread


def pass_pending(callback: Callable[[int], None], users: ReceivedActions) -> None:
    """Passes the keys that were pressed since the last call to `callback`."""
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
        pass_pending(callback, users)

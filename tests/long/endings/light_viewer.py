"""A viewer that reads and draws nothing: there in a tenth of a second, so that kill orders can have many.

Says a line when it has attached, one now and then with the newest tick it has seen, and at last how it ended.
Leaves when it gets SIGUSR1; other signals do with it what the system does.
"""

from __future__ import annotations

import _signal  # built in: `import signal` takes a millisecond, in which Ctrl-C would have Python's words

if __name__ == "__main__":
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)

import signal
import sys

from twixt.ipc import session
from twixt.ipc.errors import TwixtError

READ_BYTES = 1 << 26
# It looks around this often while nothing comes, s, and speaks at every so manieth look.
LOOK_S, LOOKS_PER_WORD = 0.05, 2


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")  # in one piece, whatever ends this
    sys.stdout.flush()


def watch(link: session.Link) -> None:
    """Reads what comes until the end. Every snapshot must be newer than the one before, every event the next one."""
    is_asked = False

    def ask(_number: int, _frame: object) -> None:
        nonlocal is_asked
        is_asked = True

    signal.signal(signal.SIGUSR1, ask)
    say("attached")
    looks, tick = 0, -1
    while not (link.ended or is_asked):
        link.wake_when_newer()
        link.wait(LOOK_S)
        link.plan()
        for view in link.unread(READ_BYTES):
            newer = view.head.tick
            if view.is_valid():
                assert newer > tick, f"{newer} came after {tick}"
                tick = newer
        if link.events.has_unread:
            first, records = link.events.unread()
            for number, value in enumerate(records["values"][:, 0].tolist(), start=first):
                assert value == number, f"event {value} came as {number}"
            assert link.events.lost == 0
        looks += 1
        if looks % LOOKS_PER_WORD == 0:
            say("tick", tick)
    say("left" if link.ended is None else f"ended {link.ended.kind}: {link.ended.message}")


def main(name: str) -> int:
    try:
        link = session.attach(name)
    except TwixtError as error:
        say("refused:", error)
        return error.exit_code
    try:
        watch(link)
    finally:
        link.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

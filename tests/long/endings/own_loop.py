"""A user's own loop with `twixt.show`, that ends at SIGUSR1: a script in a kill order.

Says a line when it has published, and a word now and then; on standard error, when it has imported `twixt`.
"""

from __future__ import annotations

import sys

PUBLISH_S, PUBLISHES_PER_WORD = 0.01, 10
IMPORTED = "imported"


def main(name: str, *flags: str) -> None:
    import signal
    import time

    asked: list[int] = []  # an Event's lock may be held by the very line that the signal interrupts
    signal.signal(signal.SIGUSR1, lambda number, _frame: asked.append(number))
    import twixt

    print(IMPORTED, file=sys.stderr, flush=True)
    scene = twixt.Scene([twixt.Sphere()])
    with twixt.show(scene, name=name, size_px=(64, 48), overlay=False, offscreen="offscreen" in flags) as view:
        number = 0
        while not asked:
            number += 1
            view.emit("publish", body=0, values=(number,))
            view.publish(position=[(0, 0, 0)] * (1 + number // 20 % 100))
            if number % PUBLISHES_PER_WORD == 1:
                print("tick", number, flush=True)
            time.sleep(PUBLISH_S)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except KeyboardInterrupt:
        raise SystemExit(130) from None

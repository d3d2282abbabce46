"""A log of events: one line each, written in the frame that shows the event.

    python event_log.py                               a loop of your own, logged to events.jsonl
    twixt run WORLD --on-event event_log:write        the same for any world

The environment variable EVENT_LOG names another file. A name that ends with .csv makes a table.
"""

from __future__ import annotations

import csv
import json
import math
import os
from typing import TextIO, Unpack

import numpy as np

import twixt

PATH = os.environ.get("EVENT_LOG", "events.jsonl")
FIELDS = ("name", "sim_time", "body", "position", "strength", "late_ms", "values", "text")
DT, GRAVITY, RADIUS = 1 / 60, 9.81, 0.2

log: TextIO | None = None


def write(event: twixt.Event) -> None:
    """Writes an event. A viewer calls it, so the file is in the folder in which the viewer was started."""
    global log
    if log is None:
        log = open(PATH, "w", newline="", encoding="utf-8", buffering=1)  # noqa: SIM115  (open until the end)
        if PATH.endswith(".csv"):
            csv.writer(log).writerow(FIELDS)
    values = [getattr(event, field) for field in FIELDS]
    if PATH.endswith(".csv"):
        texts = (" ".join(map(str, value)) if isinstance(value, tuple) else value for value in values)
        csv.writer(log).writerow("" if text is None else text for text in texts)
    else:
        log.write(json.dumps(dict(zip(FIELDS, values, strict=True))) + "\n")


def main(**options: Unpack[twixt.ViewerOptions]) -> None:
    """Lets a ball bounce until the window is closed. options: those of `twixt.show`, such as seconds=10."""
    options = {"on_event": "event_log:write", **options}
    scene = twixt.Scene([twixt.Sphere(RADIUS)], camera=twixt.Camera((0, -6, 2), (0, 0, 1)))
    position, speed = np.array([[0.0, 0.0, 2.0]]), 0.0
    with twixt.show(scene, dt=DT, **options) as view:
        for _ in view.real_time():
            speed -= GRAVITY * DT
            position[0, 2] += speed * DT
            if position[0, 2] < RADIUS:
                position[0, 2], speed = RADIUS, math.sqrt(2 * GRAVITY * 1.8)
                view.emit("hit", body=0, position=(0, 0, 0), strength=speed)
            view.publish(position=position)


if __name__ == "__main__":
    main()

"""The function that a viewer of the bench calls for each event, and a process that runs such a viewer.

Always: the file of a viewer has one record for each call, in the order of the calls.
"""

from __future__ import annotations

import struct
import sys
import time
from typing import IO, Any

import numpy as np

from bench.events.event_world import Emission, emission
from twixt.ipc.config.flags import Config
from twixt.ipc.config.rules import read_split
from twixt.ipc.ring.events import Event

# One call. number: number of the event. received_ns: instant of the call. is_intact: True if name, body, strength and
# text are those with which the event was emitted.
DELIVERED = np.dtype(
    [("number", "<i8"), ("sim_time_ns", "<i8"), ("received_ns", "<i8"), ("late_ms", "<f8"), ("is_intact", "?")]
)
_PACKED = struct.Struct("<qqqd?")
FUNCTION = f"{__name__}:record"
_files: list[IO[bytes]] = []


def record(event: Event) -> None:
    """Writes the event to the viewer's file."""
    number, is_many = int(event.values[0]), bool(event.values[1])
    is_intact = Emission(event.name, event.body, event.strength, event.text) == emission(number, is_many)
    row = _PACKED.pack(number, round(event.sim_time * 1e9), time.perf_counter_ns(), event.late_ms, is_intact)
    _files[0].write(row)


def view(name: str, out: str, split: str | None = None, **options: Any) -> None:
    """Runs a viewer of the simulation `name` in this process, with `record` as its function. out: file of the records.
    split: value of `--split`. options: other fields of the viewer's `Config`. Ends the process with the viewer's exit
    code."""
    from twixt.render.viewer.process import view as watch

    if split is not None:
        options["split"] = read_split(split)
    with open(out, "wb", buffering=1 << 20) as file:
        _files.append(file)
        code = watch(Config(on_event=FUNCTION, report=True, **options), name, owned=False)
    sys.exit(code)

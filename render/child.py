"""A viewer that belongs to a run, as the process that was started for it.

The one idea: it is started before anybody knows what it will show, and loads what every viewer needs until it is
told so, in a line on its standard input. Where nobody tells it, the command was refused, and it ends without a word.
"""

from __future__ import annotations

import gc
import json
import os
import sys

import twixt
from twixt.ipc import start
from twixt.render.start_up import Loading


def view_as_child() -> int:
    """Waits to be told; the exit code."""
    start.ended("viewer_interpreter", twixt.STARTED_NS)
    gc.disable()  # of all that is imported nothing is garbage
    loading = Loading()
    from twixt.ipc.config import Config
    from twixt.render.loop import view

    told = sys.stdin.readline()
    try:
        if not told:
            return 0
        fields = json.loads(told)
        config = Config.from_json(fields["config"])
        start.ended("viewer_spawn", fields["spawned_ns"])
        start.ended("viewer_config")
        return view(config, fields["name"], owned=os.environ.get("TWIXT_OWNED") == "1", loading=loading)
    finally:
        loading.finish()

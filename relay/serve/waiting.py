"""Waits for a blocking function without holding up the server's loop."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from functools import partial
from typing import TypeVar

Found = TypeVar("Found")


async def in_thread(function: Callable[[], Found]) -> Found:
    """The result of a function that waits. It runs on a thread that the end of the process does not wait for."""
    loop = asyncio.get_running_loop()
    result: asyncio.Future[Found] = loop.create_future()

    def run() -> None:
        try:
            found = function()
        except Exception as error:
            tell(partial(result.set_exception, error))
        else:
            tell(partial(result.set_result, found))

    def tell(finish: Callable[[], None]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(lambda: None if result.done() else finish())

    threading.Thread(target=run, name="attach", daemon=True).start()
    return await result

"""Commands of one page: a link of its own to the simulation, made at the first command and closed after a while without
commands.

A link for each page, because the simulation counts commands for each link. Always: a page sends fewer commands than the
simulation accepts. Of commands that come faster, the newest of each kind is kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from twixt.ipc.commands import CONTROL, Command
from twixt.ipc.errors import TwixtError
from twixt.ipc.session.link import Ended, Link, attach
from twixt.relay.serve.simulation import refuse_screenshots
from twixt.relay.serve.waiting import in_thread

# Shortest interval between two commands of a page, in seconds. A simulation reads at most 100 a second from a link.
INTERVAL_S = 1 / 80
# Time without commands after which the link is closed, in seconds.
IDLE_S = 30.0
# Largest number of commands of a page that wait. The oldest is dropped for a new one.
MOST_PENDING = 256
# Largest number of pages with a link.
MOST_CONTROLLERS = 8


class Controller:
    """Sends the commands of one page. name: of the simulation. refuse: receives the command's name and the reason if a
    command cannot be sent. in_use: the controllers that have a link."""

    def __init__(self, name: str, refuse: Callable[[str, str], None], in_use: set[Controller]) -> None:
        self._name, self._refuse, self._in_use = name, refuse, in_use
        self._pending: dict[tuple[str, float], Command] = {}
        self._news = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def send(self, command: Command) -> None:
        """Sends a command, as soon as the rate allows it."""
        if self._task is None:
            if len(self._in_use) >= MOST_CONTROLLERS:
                self._refuse(command.name, f"{MOST_CONTROLLERS} other pages control the simulation; try again later")
                return
            self._in_use.add(self)
            self._task = asyncio.get_running_loop().create_task(self._work())
            self._task.add_done_callback(self._end)
        index = command.value[0] if command.name == CONTROL and isinstance(command.value, list) else 0
        self._pending.pop((command.name, index), None)
        self._pending[command.name, index] = command
        if len(self._pending) > MOST_PENDING:
            self._pending.pop(next(iter(self._pending)))
        self._news.set()

    def close(self) -> None:
        """Ends the sending of commands."""
        if self._task is not None:
            self._task.cancel()

    async def _work(self) -> None:
        try:
            link = await in_thread(lambda: attach(self._name))
        except TwixtError as error:
            self._refuse(next(iter(self._pending.values())).name, str(error))
            return
        loop, descriptor = asyncio.get_running_loop(), link.fileno()
        loop.add_reader(descriptor, self._receive, link)
        try:
            while await self._is_asked() and link.ended is None:
                while self._pending and link.ended is None:
                    link.send(self._pending.pop(next(iter(self._pending))))
                    await asyncio.sleep(INTERVAL_S)
        finally:
            loop.remove_reader(descriptor)
            link.close()

    def _receive(self, link: Link) -> None:
        """Reads and answers what the simulation sends to every guest. Memory of a simulation that has ended, and old
        memory of one that has grown, is freed."""
        try:
            link.poll()
            refuse_screenshots(link)
            for _ in link.unread(0):
                pass
        except TwixtError as error:  # damaged memory
            link.ended = link.ended or Ended("refused", str(error))
        if link.ended is not None:
            self._news.set()

    async def _is_asked(self) -> bool:
        """Waits for a command. False if none comes for IDLE_S."""
        try:
            await asyncio.wait_for(self._news.wait(), IDLE_S)
        except TimeoutError:
            return False
        self._news.clear()
        return True

    def _end(self, task: asyncio.Task[None]) -> None:
        """Makes room for another page. The next command makes a new link."""
        self._in_use.discard(self)
        self._pending.clear()
        self._task = None
        if not task.cancelled() and (error := task.exception()) is not None:
            self._refuse("", str(error))

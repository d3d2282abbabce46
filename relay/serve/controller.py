"""Commands and actions of one page's user: a link of the page's own to the simulation, made at the first of them and
closed after a while without any.

A link for each page, because the simulation counts commands for each link, and ends the pull and releases the keys of a
link that closes. Always: a page sends less than the simulation accepts. Of commands, pulls and views that come faster,
the newest of each kind is kept. Events are all kept, in order; a page that sends them faster waits.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Callable, Hashable

from twixt.ipc.commands import CONTROL, Command
from twixt.ipc.errors import TwixtError
from twixt.ipc.interaction.events import KEY, PRESS, RELEASE, Look, Pull, UserAction, UserEvent
from twixt.ipc.session.link import Ended, Link, attach
from twixt.ipc.session.screenshots import NO_PICTURES
from twixt.relay.serve.waiting import in_thread

# Shortest intervals, in seconds, between two messages of a page. A simulation reads messages with a weight of 1,000 in
# a second from a link. A command and an event have the weight 10, a pull and a view 1.
COMMAND_S, PULL_S, LOOK_S = 1 / 80, 1 / 120, 1 / 30
# Largest number of events that wait.
MOST_EVENTS = 64
# Time without commands and actions after which the link is closed, in seconds. If the user has selected a body, this is
# the time without any message of the page.
IDLE_S = 30.0
# Time without any message of the page after which a pull and held keys end, in seconds. A visible page sends four pings
# a second.
SILENCE_S = 3.0
# Largest number of pages with a link.
MOST_CONTROLLERS = 8

Sent = Command | UserAction


class _Lane:
    """Messages that share a rate. interval_s: shortest time between two of them. due_s: instant of the next one, in
    seconds of the loop's clock. pending: by the key of what a newer one replaces."""

    def __init__(self, interval_s: float) -> None:
        self.interval_s, self.due_s = interval_s, 0.0
        self.pending: dict[Hashable, Sent] = {}


class Controller:
    """Sends the commands and actions of one page. name: of the simulation. refuse: receives the name of a command, or
    the kind of an action, and the reason if it cannot be sent. in_use: the controllers that have a link."""

    def __init__(self, name: str, refuse: Callable[[str, str], None], in_use: set[Controller]) -> None:
        self._name, self._refuse, self._in_use = name, refuse, in_use
        self._commands, self._pulls, self._looks = self._lanes = [_Lane(each) for each in (COMMAND_S, PULL_S, LOOK_S)]
        self._numbers = itertools.count()
        self._news, self._room = asyncio.Event(), asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._first = ""
        self._pull = Pull()
        self._keys = set[int]()
        self._asked_s = self._heard_s = 0.0

    @property
    def is_linked(self) -> bool:
        """True if it has a link, or makes one."""
        return self._task is not None

    def hear(self) -> None:
        """Records that a message of the page has come."""
        self._heard_s = asyncio.get_running_loop().time()

    async def send(self, message: Sent) -> None:
        """Sends a command or an action, as soon as the rate allows it. Waits while `MOST_EVENTS` events wait."""
        while self._task is not None and len(self._commands.pending) >= MOST_EVENTS:
            self._room.clear()
            await self._room.wait()
        if self._task is None:
            if len(self._in_use) >= MOST_CONTROLLERS:
                if not isinstance(message, Look):  # the user did not ask for that
                    others = f"{MOST_CONTROLLERS} other pages control the simulation; try again later"
                    self._refuse(_name_of(message), others)
                return
            self._in_use.add(self)
            self._first = _name_of(message)
            self._task = asyncio.get_running_loop().create_task(self._work())
            self._task.add_done_callback(self._end)
        lane, key = self._place(message)
        lane.pending.pop(key, None)
        lane.pending[key] = message
        self._asked_s = asyncio.get_running_loop().time()
        self._news.set()

    def close(self) -> None:
        """Ends the sending, and with it a pull."""
        if self._task is not None:
            self._task.cancel()

    async def _work(self) -> None:
        try:
            link = await in_thread(lambda: attach(self._name, pictures=NO_PICTURES))
        except TwixtError as error:
            self._refuse(self._first, str(error))
            return
        loop, descriptor = asyncio.get_running_loop(), link.fileno()
        loop.add_reader(descriptor, self._receive, link)
        try:
            while link.ended is None and (wait_s := self._send_due(link, loop.time())) > 0:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._news.wait(), wait_s)
                self._news.clear()
        finally:
            loop.remove_reader(descriptor)
            link.close()

    def _send_due(self, link: Link, now_s: float) -> float:
        """Sends what is due. Returns the time to wait for more, in seconds; not above 0 if the link is to be closed."""
        for lane in self._lanes:
            if lane.pending and lane.due_s <= now_s:
                message = lane.pending.pop(next(iter(lane.pending)))
                lane.due_s = now_s + lane.interval_s
                if isinstance(message, Command):
                    link.send(message)
                else:
                    self._note(message)
                    link.send_action(message)
        self._room.set()
        if due := [lane.due_s for lane in self._lanes if lane.pending]:
            return max(min(due) - now_s, 1e-6)
        if self._pull.body is None and not self._keys:
            return self._asked_s + IDLE_S - now_s
        is_held = self._keys or self._pull.is_held
        return self._heard_s + (SILENCE_S if is_held else IDLE_S) - now_s

    def _place(self, message: Sent) -> tuple[_Lane, Hashable]:
        """The message's lane, and its key there."""
        match message:
            case Pull():
                return self._pulls, 0
            case Look():
                return self._looks, 0
            case Command(name, value):
                return self._commands, (name, value[0] if name == CONTROL and isinstance(value, list) else 0)
        return self._commands, next(self._numbers)

    def _note(self, action: UserAction) -> None:
        """Records the pull and the held keys."""
        if isinstance(action, Pull):
            self._pull = action
        elif isinstance(action, UserEvent) and action.name == KEY:
            if action.action == PRESS:
                self._keys.add(action.key)
            elif action.action == RELEASE:
                self._keys.discard(action.key)

    def _receive(self, link: Link) -> None:
        """Reads what the simulation sends to every guest. Memory of a simulation that has ended, and old
        memory of one that has grown, is freed."""
        try:
            link.poll()
            for _ in link.unread(0):
                pass
        except TwixtError as error:  # damaged memory
            link.ended = link.ended or Ended("refused", str(error))
        if link.ended is not None:
            self._news.set()

    def _end(self, task: asyncio.Task[None]) -> None:
        """Makes room for another page. The next command or action makes a new link."""
        self._in_use.discard(self)
        for lane in self._lanes:
            lane.pending.clear()
        self._room.set()
        self._keys.clear()
        self._task, self._pull = None, Pull()
        if not task.cancelled() and (error := task.exception()) is not None:
            self._refuse("", str(error))


def _name_of(message: Sent) -> str:
    return message.name if isinstance(message, Command) else message.KIND

"""The daemon thread of a simulation: it lets viewers in, hears them, and tells them what changed.

The one idea: the stepping thread and the viewers never meet. The stepping thread sets a value or reads
one; this thread does all talking, so a viewer can wait, flood, stop or die with nobody but itself
noticing, and viewers are answered even while the user's own step never returns.

Always: one viewer's damage closes that viewer alone; nothing here waits for a viewer; queues are
bounded; every callback runs on this thread. Not here: the memory and what is in it (`Host`).
Linux; select.poll makes macOS likely, untested. Windows needs another way to wait.
"""

from __future__ import annotations

import contextlib
import select
import socket
import sys
import threading
import time
from collections import deque
from typing import Any

from twixt.ipc import door as doors
from twixt.ipc import fork, wire
from twixt.ipc.commands import Command, CommandQueue
from twixt.ipc.errors import TwixtError
from twixt.ipc.guest import Guest, House, call_guarded, encode_theirs, flush_all

# More viewers than anybody looks at; a bound on descriptors (three each).
VIEWERS_LIMIT = 32
# A connection that says nothing (a probe says goodbye at once) is let go after this.
SILENCE_NS = 5_000_000_000
# A status is for the eye: faster than this nobody reads.
STATUS_INTERVAL_NS = 200_000_000
# No display shows a frame later than this; a viewer that claims more would drive physics far ahead.
LEAD_LIMIT_NS = 1_000_000_000
# The last word gets this long to leave; a viewer that does not read it learns of the end by the end of the stream.
FAREWELL_NS = 250_000_000
# Out of descriptors: this long until the next attempt to let somebody in.
ACCEPT_PAUSE_NS = 100_000_000
# One caller in so long is let in, a hundred at once after a quiet time: each takes one or two ms of the interpreter.
CALLER_NS, CALLERS_NS = 100_000_000, 10_000_000_000
# The thread ends within this, unless a callback of the user's never returns.
JOIN_PATIENCE_S = 2.0


class Reception:
    """Serves viewers from `start` to `end`. Its public methods may be called from any thread; none waits."""

    def __init__(self, door: doors.Door, house: House) -> None:
        self.viewers = 0
        self.lead_ns = 0
        self.commands = CommandQueue()
        self.viewer_came = threading.Event()
        self._door, self._house = door, house
        self._guests: list[Guest] = []
        self._waiting: deque[Guest] = deque()
        self._in_hand: Guest | None = None  # taken off the queue, perhaps not woken yet
        self._status: dict[str, Any] | None = None
        self._status_known = False
        self._farewell: tuple[str, str] | None = None
        self._accept_after_ns, self._callers_ns = 0, -CALLERS_NS
        self._has_work = False  # the house does some of it between any two messages
        self._poke_lock = threading.Lock()
        with fork.LOCK:
            self._poked, self._poke = socket.socketpair()
            fork.guard(self)
        self._poked.setblocking(False)
        self._thread = threading.Thread(target=self._serve, name=f"twixt {door.name}", daemon=True)

    def start(self) -> None:
        """Viewers are answered from now on."""
        self._thread.start()

    @property
    def viewers_waiting(self) -> int:
        return len(self._waiting)

    def wake_waiting(self) -> None:
        """One wake for each viewer that asked for one. With nobody waiting: one look at an empty queue."""
        if self._in_hand is not None:  # an interruption came between taking it off the queue and waking it
            self._in_hand.wake()
            self._in_hand = None
        while self._waiting:
            try:
                self._in_hand = self._waiting[0]
                guest = self._waiting.popleft()
            except IndexError:  # the daemon thread was faster
                break
            guest.wake()
            self._in_hand = None

    def look_again(self) -> None:
        """The house has something new to tell."""
        # Full: it will look anyway; closed: it is over.
        with self._poke_lock, contextlib.suppress(OSError):
            self._poke.send(b"p", wire.SEND_FLAGS)

    def set_status(self, status: dict[str, Any]) -> None:
        """The latest wins; sent when the viewer's turn has come."""
        self._status = status
        if not self._status_known and self.viewers:
            self._status_known = True
            self.look_again()

    def end(self, kind: str, message: str) -> None:
        """Tell all, close all. From a callback: as soon as the callback returns."""
        self._farewell = kind, message
        self.commands.end()
        self.look_again()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(JOIN_PATIENCE_S)

    def close_in_child(self) -> None:
        """Part of `fork.Guarded`. The thread itself does not exist in the child, and its locks may be held for ever."""
        self._poke_lock = threading.Lock()
        self.commands = CommandQueue()
        self.commands.end()
        self._poked.close()
        self._poke.close()
        self._guests.clear()
        self._waiting.clear()
        self.viewers = 0

    # What follows runs on the daemon thread.

    def _serve(self) -> None:
        try:
            while self._farewell is None:
                ready = self._wait()
                now_ns = time.perf_counter_ns()
                if self._poked.fileno() in ready:
                    self._poked.recv(4096)
                if self._door.listener.fileno() in ready:
                    self._let_in(now_ns)
                for guest in list(self._guests):
                    self._attend(guest, ready.get(guest.connection.fileno(), 0), now_ns)
                self._has_work = bool(call_guarded(self._house.work))
            self._say_farewell()
        finally:
            for guest in self._guests:
                guest.close()
            self._guests.clear()
            with self._poke_lock:
                fork.close(self._poke, self._poked)

    def _wait(self) -> dict[int, int]:
        now_ns = time.perf_counter_ns()
        poller = select.poll()
        poller.register(self._poked, select.POLLIN)
        instants: list[int] = [now_ns] if self._has_work else []
        if now_ns >= self._accept_after_ns:
            poller.register(self._door.listener, select.POLLIN)
        else:
            instants.append(self._accept_after_ns)
        self._status_known = False
        for guest in self._guests:
            hears = now_ns >= guest.deaf_until_ns
            # With nothing asked for, the kernel still tells of a viewer that has gone.
            poller.register(guest.connection, select.POLLIN * hears | select.POLLOUT * guest.has_more)
            if not hears:
                instants.append(guest.deaf_until_ns)
            if not guest.attached:
                instants.append(guest.came_ns + SILENCE_NS)
            elif guest.status is not self._status:
                self._status_known = True
                instants.append(guest.status_ns + STATUS_INTERVAL_NS)
        # Rounded up: waking just before the instant would spin until it.
        timeout_ms = max(0, -(-(min(instants) - now_ns) // 1_000_000)) if instants else None
        return dict(poller.poll(timeout_ms))

    def _let_in(self, now_ns: int) -> None:
        while True:
            with fork.LOCK:
                try:
                    connection, _ = self._door.listener.accept()
                except BlockingIOError:
                    return
                except OSError:
                    self._accept_after_ns = now_ns + ACCEPT_PAUSE_NS
                    return
                guest = Guest(connection, now_ns)
                self._guests.append(guest)
            self._callers_ns = max(self._callers_ns, now_ns - CALLERS_NS) + CALLER_NS
            try:
                doors.check_peer(connection, "viewer")
                if len(self._guests) > VIEWERS_LIMIT:
                    raise TwixtError(f"{VIEWERS_LIMIT} viewers are attached, that is the most; close one first")
            except (TwixtError, OSError) as error:
                self._let_go(guest, str(error))
            if self._callers_ns > now_ns:
                self._accept_after_ns = self._callers_ns
                return

    def _attend(self, guest: Guest, events: int, now_ns: int) -> None:
        try:
            if events & ~select.POLLOUT and not self._hear(guest, events, now_ns):
                if guest.deaf_until_ns > now_ns:  # who leaves in a flood does not go on with it at the door
                    self._accept_after_ns = guest.deaf_until_ns
                self._let_go(guest)
                return
            if not guest.attached and now_ns - guest.came_ns > SILENCE_NS:
                self._let_go(guest, f"a viewer says hello within {SILENCE_NS / 1e9:g} s of connecting")
                return
            if guest.attached:
                self._tell_news(guest, now_ns)
            guest.flush()
        except TwixtError as error:
            self._let_go(guest, str(error))
        except OSError:
            self._let_go(guest)
        except Exception:  # a fault of ours must not silence the simulation for all the others
            sys.excepthook(*sys.exc_info())
            self._let_go(guest)

    def _hear(self, guest: Guest, events: int, now_ns: int) -> bool:
        """False when it has gone. What it said before it went is still heard."""
        while guest.deaf_until_ns <= now_ns or events & (select.POLLHUP | select.POLLERR):
            messages = guest.hear(now_ns)
            if messages is None:
                return False
            for message in messages:
                self._answer(guest, message, now_ns)
            if not messages:
                return True
        return True

    def _answer(self, guest: Guest, message: wire.Message, now_ns: int) -> None:
        if guest.attached == (message.kind == "attach"):
            raise wire.WireError(f"the first message of a viewer, and no other, is attach; got {message.kind[:40]!r}")
        match message.kind:
            case "attach":
                self._attach(guest, owned=message.fields.get("owned") is True)
            case "lead":
                guest.lead_ns = min(max(wire.whole_number(message.fields, "lead_ns"), 0), LEAD_LIMIT_NS)
                self._count()
            case "wake":
                self._wake_when_newer(
                    guest, wire.whole_number(message.fields, "number"), wire.whole_number(message.fields, "plan_number")
                )
            case "segment":
                self._post_segment(guest)
            case "report":
                guest.report_number = wire.whole_number(message.fields, "number")
            case "command":
                self.commands.put(guest, Command.from_fields(message.fields))
            case unknown:
                raise wire.WireError(f"no viewer has reason to say {unknown[:40]!r}")

    def _attach(self, guest: Guest, owned: bool) -> None:
        fields = {"name": self._door.name, "description": self._house.describe_to_guest()}
        welcome = encode_theirs("welcome", fields, "description", descriptors=1)
        with fork.LOCK:
            guest.post("welcome", welcome, [guest.open_wake()])
        self._post_segment(guest)
        guest.attached, guest.owned = True, owned
        self._count()
        self.viewer_came.set()

    def _post_segment(self, guest: Guest) -> None:
        with fork.LOCK:
            fields, descriptor = self._house.segment_for_guest()
            guest.post("segment", wire.encode("segment", fields, descriptors=1), [descriptor])

    def _wake_when_newer(self, guest: Guest, number: int, plan_number: int) -> None:
        if guest not in self._waiting:
            self._waiting.append(guest)
        # Looked at only after it stands in the queue: a publish in between finds it there.
        if self._house.has_newer(number, plan_number):
            try:
                self._waiting.remove(guest)
            except ValueError:  # that publish has woken it
                return
            guest.wake()

    def _tell_news(self, guest: Guest, now_ns: int) -> None:
        version, packed = self._house.scene
        if guest.scene_version != version:
            guest.scene_version = version
            guest.post("scene", wire.encode("scene", {"version": version}, packed))
        if guest.report_number is not None:
            fields = {"number": guest.report_number, "blocks": self._house.report_for_guest()}
            guest.report_number = None
            guest.post("report", encode_theirs("report", fields, "blocks"))
        status = self._status
        if guest.status is not status and now_ns - guest.status_ns >= STATUS_INTERVAL_NS:
            guest.status, guest.status_ns = status, now_ns
            guest.post("status", encode_theirs("status", {"status": status}, "status"))

    def _let_go(self, guest: Guest, reason: str = "") -> None:
        if reason:
            guest.post("refused", wire.encode("refused", {"message": reason}))
            with contextlib.suppress(OSError):
                guest.flush()
        self._guests.remove(guest)
        with contextlib.suppress(ValueError):
            self._waiting.remove(guest)
        guest.close()
        if guest.attached:
            self._count()
            self._house.guest_gone(guest.owned, was_last=self.viewers == 0)

    def _count(self) -> None:
        attached = [guest for guest in self._guests if guest.attached]
        self.lead_ns = max((guest.lead_ns for guest in attached), default=0)
        self.viewers = len(attached)

    def _say_farewell(self) -> None:
        assert self._farewell is not None
        kind, message = self._farewell
        for guest in self._guests:
            guest.post("ended", wire.encode("ended", {"ending": kind, "message": message}))
        flush_all(self._guests, FAREWELL_NS)

"""The service thread of a simulation accepts viewers, receives their messages, and sends changes to them.

The stepping thread only sets and reads values; the service thread does all work on the sockets. So a viewer that
waits, floods, stops or dies affects neither a step nor another viewer, and viewers get answers even if the user's step
never returns.

Always: an error with one viewer closes only that viewer's connection. The service thread never waits for a viewer,
except at the end, for at most `END_PATIENCE_NS`. All queues have a limited length. Every callback runs on the service
thread. Not here: the shared memory (`Host`).
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from twixt.ipc.commands import Command, CommandQueue
from twixt.ipc.errors import TwixtError
from twixt.ipc.process import fork
from twixt.ipc.process.interrupts import InterruptibleEvent
from twixt.ipc.process.notices import print_current_exception
from twixt.ipc.session import messages, wire
from twixt.ipc.session.listener import check_peer
from twixt.ipc.session.messages import INTERVALS_NS
from twixt.ipc.session.screenshots import NO_PICTURES
from twixt.ipc.session.viewers import KINDS as ACTIONS
from twixt.ipc.session.viewers import (
    AttachedViewer,
    HostRequests,
    ReceivedActions,
    WrittenOverlay,
    call_guarded,
    encode_or_drop,
    flush_all,
)
from twixt.ipc.session.wakes import SelfPipe, WakeQueue
from twixt.ipc.system import wakes
from twixt.ipc.system.interface import Listener

# Largest number of viewers that are attached at the same time. This limits the number of descriptors, because each
# viewer needs three descriptors.
VIEWERS_LIMIT = 32
# A connection is closed if no attach message arrives within this time, in ns.
ATTACH_PATIENCE_NS = 5_000_000_000
# Shortest interval between two status messages to one viewer, in ns. The interval is long enough for people, who read
# the status.
STATUS_INTERVAL_NS = 200_000_000
# Longest accepted lead of a viewer, in ns. The physics process runs ahead of the picture by the lead. Every display
# shows a frame in less than this time.
LEAD_LIMIT_NS = 1_000_000_000
# Longest time that is spent on sending the end message, in ns. A viewer that does not read within this time does not
# get the reason of the end. It only sees that the stream has closed.
END_PATIENCE_NS = 250_000_000
# Pause after a failed attempt to accept a connection, in ns. An attempt fails, for example, for lack of descriptors.
ACCEPT_PAUSE_NS = 100_000_000
# Interval in which one connection is accepted, and longest time for which unused intervals are saved, both in ns.
# After 10 s without a connection, up to a hundred connections are accepted immediately. There is a limit because each
# connection costs 1 to 2 ms.
ADMISSION_INTERVAL_NS, ADMISSION_BURST_NS = 100_000_000, 10_000_000_000
# Longest wait for the end of the thread, in seconds. The thread takes so long only if a callback of the user does not
# return.
JOIN_PATIENCE_S = 2.0


class ServiceThread:
    """Serves viewers from `start` to `end`. Any thread may call its public methods; only `end` waits.

    viewers: number of attached viewers. lead_ns: largest lead that a viewer has reported, in ns; 0 if there are no
    viewers. commands: queue of the commands that viewers sent. actions: actions of the viewers' users.
    viewer_attached: event that is set when a viewer attaches. wakes: viewers that the next publish wakes.
    """

    def __init__(self, listener: Listener, host: HostRequests) -> None:
        self.viewers = 0
        self.lead_ns = 0
        self.commands, self.actions = CommandQueue(), ReceivedActions()
        self.viewer_attached = InterruptibleEvent()
        self.wakes = WakeQueue()
        self._listener, self._host = listener, host
        self._connected: list[AttachedViewer] = []
        self._status: dict[str, Any] | None = None
        self._plots: WrittenOverlay | None = None
        self._is_status_scheduled = self._are_overlays_scheduled = False
        self._end: tuple[str, str] | None = None
        self._accept_after_ns, self._admitted_ns = 0, -ADMISSION_BURST_NS
        # True if the host's ring has work; each iteration of the loop then does a piece of this work
        self._has_work = False
        self._self_pipe = SelfPipe()
        fork.guard(self)
        self._thread = threading.Thread(target=self._serve, name=f"twixt {listener.name}", daemon=True)

    def start(self) -> None:
        """Start the thread. From now on viewers get answers, including viewers that connected earlier."""
        self._thread.start()

    def notify(self) -> None:
        """Wake the service thread, because the host has changed or has work."""
        self._self_pipe.notify()

    def set_status(self, status: dict[str, Any]) -> None:
        """Replace the status. Each viewer receives the latest status, at intervals of at least
        `STATUS_INTERVAL_NS`."""
        self._status = status
        if not self._is_status_scheduled and self.viewers:
            self._is_status_scheduled = True
            self.notify()

    def overlays_changed(self) -> None:
        """Plans to send the host's new images, figures or plots to the viewers, at intervals of at least `INTERVALS_NS`."""
        if not self._are_overlays_scheduled and self.viewers:
            self._are_overlays_scheduled = True
            self.notify()

    def end(self, kind: str, message: str) -> None:
        """Send the end message to all viewers and close all connections. Waits until this is done, but at most
        `JOIN_PATIENCE_S`. A call from a callback does not wait: the thread ends after the callback has returned. A call
        before `start` only closes what was made."""
        self._end = kind, message
        self.commands.end()
        self.actions.end()
        self.notify()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(JOIN_PATIENCE_S)
        elif self._thread.ident is None:
            self._self_pipe.close()

    def close_in_child(self) -> None:
        """Implements `fork.Guarded`. Makes new queues: the service thread does not run in the child, so this thread
        would never release the locks of the old queues."""
        self.commands, self.actions = CommandQueue(), ReceivedActions()
        self.commands.end()
        self.actions.end()
        self._connected.clear()
        self.wakes.clear()
        self.viewers = 0

    # The methods below run on the service thread.

    def _serve(self) -> None:
        try:
            while self._end is None:
                ready = self._wait()
                now_ns = time.perf_counter_ns()
                if self._self_pipe.fileno() in ready:
                    self._self_pipe.drain()
                if self._listener.socket.fileno() in ready:
                    self._accept(now_ns)
                if self.viewers:
                    self._collect_plots(now_ns)
                for viewer in list(self._connected):
                    self._serve_viewer(viewer, ready.get(viewer.connection.fileno(), 0), now_ns)
                self._has_work = bool(call_guarded(self._host.ring.step))
            self._send_end()
        finally:
            for viewer in self._connected:
                viewer.close()
            self._connected.clear()
            self._self_pipe.close()

    def _wait(self) -> dict[int, int]:
        now_ns = time.perf_counter_ns()
        poller = wakes.poller()
        poller.register(self._self_pipe, wakes.READABLE)
        instants: list[int] = [now_ns] if self._has_work else []
        if now_ns >= self._accept_after_ns:
            poller.register(self._listener.socket, wakes.READABLE)
        else:
            instants.append(self._accept_after_ns)
        self._is_status_scheduled = self._are_overlays_scheduled = False
        for viewer in self._connected:
            is_read = now_ns >= viewer.muted_until_ns
            # The connection is registered even if no event is requested. So `poll` still reports a viewer that has
            # disconnected.
            events = wakes.READABLE * is_read | wakes.WRITABLE * viewer.has_more
            poller.register(viewer.connection, events)
            if not is_read:
                instants.append(viewer.muted_until_ns)
            if not viewer.attached:
                instants.append(viewer.connected_ns + ATTACH_PATIENCE_NS)
                continue
            if viewer.sent.status is not self._status:
                self._is_status_scheduled = True
                instants.append(viewer.sent.status_ns + STATUS_INTERVAL_NS)
            for kind, _, due_ns in self._overlays_for(viewer):
                if not viewer.has_unsent(kind):  # if a queued overlay is not sent yet, the new overlay waits
                    self._are_overlays_scheduled = True
                    instants.append(due_ns)
        if self.viewers and (plots_due_ns := self._host.plots.due_ns) is not None:
            self._are_overlays_scheduled = True
            instants.append(plots_due_ns)
        # The timeout is rounded up: a wake-up just before the instant would make the loop spin.
        timeout_ms = max(0, -(-(min(instants) - now_ns) // 1_000_000)) if instants else None
        return dict(poller.poll(timeout_ms))

    def _accept(self, now_ns: int) -> None:
        while True:
            with fork.LOCK:
                try:
                    connection, _ = self._listener.socket.accept()
                except BlockingIOError:
                    return
                except OSError:
                    self._accept_after_ns = now_ns + ACCEPT_PAUSE_NS
                    return
                viewer = AttachedViewer(connection, now_ns)
                self._connected.append(viewer)
            self._admitted_ns = max(self._admitted_ns, now_ns - ADMISSION_BURST_NS) + ADMISSION_INTERVAL_NS
            try:
                check_peer(connection, "viewer")
                if len(self._connected) > VIEWERS_LIMIT:
                    raise TwixtError(f"at most {VIEWERS_LIMIT} viewers can be attached; close one first")
            except (TwixtError, OSError) as error:
                self._disconnect(viewer, str(error))
            if self._admitted_ns > now_ns:
                self._accept_after_ns = self._admitted_ns
                return

    def _serve_viewer(self, viewer: AttachedViewer, events: int, now_ns: int) -> None:
        try:
            if events & ~wakes.WRITABLE and not self._receive(viewer, events, now_ns):
                # No connection is accepted while a viewer is muted. Otherwise a flooding viewer could continue over a
                # new connection.
                if viewer.muted_until_ns > now_ns:
                    self._accept_after_ns = viewer.muted_until_ns
                self._disconnect(viewer)
                return
            if not viewer.attached and now_ns - viewer.connected_ns > ATTACH_PATIENCE_NS:
                self._disconnect(viewer, f"no attach message within {ATTACH_PATIENCE_NS / 1e9:g} s of connecting")
                return
            if viewer.attached:
                self._post_changes(viewer, now_ns)
            viewer.flush()
        except TwixtError as error:
            self._disconnect(viewer, str(error))
        except OSError:
            self._disconnect(viewer)
        except Exception:  # an error in twixt itself must not end the service for other viewers
            print_current_exception()
            self._disconnect(viewer)

    def _receive(self, viewer: AttachedViewer, events: int, now_ns: int) -> bool:
        """Receive and apply messages. Returns False if the viewer has disconnected or must be disconnected. Messages
        that the viewer had sent before it disconnected are applied first, up to the viewer's limit per second."""
        while viewer.muted_until_ns <= now_ns or events & wakes.GONE:
            messages = viewer.receive(now_ns)
            if messages is None:
                return False
            for message in messages:
                self._apply(viewer, message)
            if not messages:
                return True
        return True

    def _apply(self, viewer: AttachedViewer, message: wire.Message) -> None:
        if viewer.attached == (message.kind == "attach"):
            raise wire.WireError(f"a viewer must send attach once, as its first message; got {message.kind[:40]!r}")
        match message.kind:
            case "attach":
                self._attach(viewer, message.fields)
            case "lead":
                viewer.lead_ns = min(max(wire.whole_number(message.fields, "lead_ns"), 0), LEAD_LIMIT_NS)
                self._count()
            case "wake":
                self._wake_when_newer(
                    viewer,
                    wire.whole_number(message.fields, "number"),
                    wire.whole_number(message.fields, "plan_number"),
                )
            case "segment":
                self._post_segment(viewer)
            case "report":
                viewer.sent.report_number = wire.whole_number(message.fields, "number")
            case "screenshot":
                self._host.screenshots.answer(viewer, message.fields)
            case "command":
                self.commands.put(viewer, Command.from_fields(message.fields))
            case kind if kind in ACTIONS:
                self.actions.receive(viewer, message)
            case unknown:
                raise wire.WireError(f"unexpected message {unknown[:40]!r} from a viewer")

    def _attach(self, viewer: AttachedViewer, wishes: dict[str, Any]) -> None:
        if "pictures" in wishes:
            viewer.pictures = wire.whole_number(wishes, "pictures")
        fields = {"name": self._listener.name, "description": self._host.describe_for_viewer()}
        welcome = encode_or_drop("welcome", fields, "description", descriptors=1)
        with fork.LOCK:
            viewer.post("welcome", welcome, [viewer.open_wakes()])
            fields, descriptor = self._host.share_events()
            viewer.post("events", wire.encode("events", fields, descriptors=1), [descriptor])
        self._post_segment(viewer)
        viewer.attached = True
        self._count()
        self.viewer_attached.set()

    def _post_segment(self, viewer: AttachedViewer) -> None:
        with fork.LOCK:
            fields, descriptor = self._host.ring.share_segment()
            viewer.post("segment", wire.encode("segment", fields, descriptors=1), [descriptor])

    def _wake_when_newer(self, viewer: AttachedViewer, number: int, plan_number: int) -> None:
        self.wakes.add(viewer)
        # This test comes after the viewer was added to the queue. So a publish after the test finds the viewer in the
        # queue and wakes it.
        if self._host.ring.has_newer(number, plan_number) and self.wakes.remove(viewer):
            viewer.wake()

    def _post_changes(self, viewer: AttachedViewer, now_ns: int) -> None:
        sent, scene, camera = viewer.sent, self._host.scene, self._host.camera
        if sent.scene_version != scene.version:
            sent.scene_version, sent.camera_version = scene.version, scene.camera_version
            viewer.post_scene(scene)
        if sent.camera_version < camera.version:
            sent.camera_version = camera.version
            fields: dict[str, Any] = {
                "version": camera.version,
                "camera": None if camera.camera is None else asdict(camera.camera),
            }
            viewer.post("camera", wire.encode("camera", fields))
        if sent.report_number is not None:
            fields = {"number": sent.report_number, "blocks": self._host.report_for_viewer()}
            sent.report_number = None
            viewer.post("report", encode_or_drop("report", fields, "blocks"))
        status = self._status
        if sent.status is not status and now_ns - sent.status_ns >= STATUS_INTERVAL_NS:
            sent.status, sent.status_ns = status, now_ns
            viewer.post("status", encode_or_drop("status", {"status": status}, "status"))

        screenshots = self._host.screenshots
        if screenshots.are_waiting and viewer is self._picture_maker():
            screenshots.post_to(viewer)
        for kind, overlay, due_ns in self._overlays_for(viewer):
            if now_ns >= due_ns and not viewer.has_unsent(kind):
                sent.overlays[kind], sent.overlays_ns[kind] = overlay, now_ns
                messages.post(viewer, kind, overlay)

    def _collect_plots(self, now_ns: int) -> None:
        message = self._host.plots.message(now_ns)
        if message is not None:
            self._plots = WrittenOverlay(*message)

    def _overlays_for(self, viewer: AttachedViewer) -> Iterator[tuple[str, WrittenOverlay, int]]:
        """Yields the images, figures and plots that the viewer does not have yet: kind, value, and the earliest instant
        at which to queue the value."""
        overlays = self._host.overlays if self._plots is None else {**self._host.overlays, "plots": self._plots}
        for kind, overlay in overlays.items():
            if viewer.sent.overlays.get(kind) is not overlay:
                yield kind, overlay, viewer.sent.overlays_ns.get(kind, 0) + INTERVALS_NS[kind]

    def _disconnect(self, viewer: AttachedViewer, reason: str = "") -> None:
        if reason:
            viewer.post("refused", wire.encode("refused", {"message": reason}))
            with contextlib.suppress(OSError):
                viewer.flush()
        self._connected.remove(viewer)
        self.wakes.remove(viewer)
        self.actions.drop(viewer)
        viewer.close()
        if viewer.attached:
            self._count()
        was_maker = viewer.attached and viewer.pictures > NO_PICTURES
        self._host.screenshots.viewer_gone(viewer, is_last=was_maker and not self._picture_maker())

    def _picture_maker(self) -> AttachedViewer | None:
        """The viewer that makes screenshots: the one attached longest of those with the largest `pictures`."""
        makers = [one for one in self._connected if one.attached and one.pictures > NO_PICTURES]
        return max(makers, key=lambda one: one.pictures, default=None)

    def _count(self) -> None:
        attached = [viewer for viewer in self._connected if viewer.attached]
        self.lead_ns = max((viewer.lead_ns for viewer in attached), default=0)
        self.viewers = len(attached)

    def _send_end(self) -> None:
        assert self._end is not None
        kind, message = self._end
        for viewer in self._connected:
            viewer.post("ended", wire.encode("ended", {"ending": kind, "message": message}))
        flush_all(self._connected, END_PATIENCE_NS)

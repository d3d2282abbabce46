"""A whole frame loop in virtual time: real channel, real drawing, and a clock and a display that the test moves on.

The one idea: time passes only where the frame loop waits, reads the clock, draws for a chosen time or swaps on a display
of a chosen refresh. Physics publishes by the same clock, so hundreds of frames run in a second and always alike.
"""

from __future__ import annotations

import heapq
import itertools
import math
import threading
from collections.abc import Callable

from tests.publishing import publish
from twixt.ipc.config.flags import Config
from twixt.ipc.plan import Plan
from twixt.ipc.scene import Scene, Sphere
from twixt.ipc.session import open_listener
from twixt.ipc.session.host import Host
from twixt.ipc.session.link import attach
from twixt.ipc.snapshot import Head, new_bodies
from twixt.render.cores.thread_time import Reading
from twixt.render.display.input import Event
from twixt.render.display.offscreen import OffscreenWindow
from twixt.render.display.present_times import Presented
from twixt.render.display.wayland import AwaitCall
from twixt.render.measure.frame_log import FrameLog
from twixt.render.measure.frame_rows import FrameRow
from twixt.render.pacing.pacer import Pacer
from twixt.render.pacing.refresh import Refresh
from twixt.render.viewer.frame_record import FrameTimer
from twixt.render.viewer.loop import FrameLoop
from twixt.render.viewer.screenshots import Screenshots

MS = 1_000_000
START_NS = 5_000_000_000
READ_NS = 500  # a read of the clock takes so long, so that a spin ends
SWAP_NS = 200_000  # a swap takes so long by itself
STEP_NS, LEAD_NS = 10 * MS, 50 * MS  # simulated time of a step; how long before it is due its snapshot is published
PATIENCE_S = 30.0  # of real time, for a thread that wakes the loop


class VirtualTime:
    """Clock and sleep, and what happens at given instants."""

    def __init__(self) -> None:
        self.at_ns = START_NS
        self._order = itertools.count()
        self._due: list[tuple[int, int, Callable[[], object]]] = []

    def now_ns(self) -> int:
        self.advance_to(self.at_ns + READ_NS)
        return self.at_ns

    def sleep(self, seconds: float) -> None:
        self.advance_to(self.at_ns + round(seconds * 1e9))

    def at(self, instant_ns: int, act: Callable[[], object]) -> None:
        """Has this done when that instant comes."""
        heapq.heappush(self._due, (instant_ns, next(self._order), act))

    @property
    def next_ns(self) -> int:
        """When something happens next."""
        return self._due[0][0] if self._due else 1 << 62

    def advance_to(self, instant_ns: int) -> None:
        while self.next_ns <= instant_ns:
            due_ns, _, act = heapq.heappop(self._due)
            self.at_ns = max(self.at_ns, due_ns)
            act()
        self.at_ns = max(self.at_ns, instant_ns)


class VirtualProcessor:
    """A core that is never shared."""

    def __init__(self, time: VirtualTime) -> None:
        self._time = time

    def read(self) -> Reading:
        return Reading(self._time.at_ns, self._time.at_ns, 0, 0, 0)

    def drawers(self) -> tuple[int, ...]:
        return ()

    def waited_ns(self) -> int:
        return 0

    def close(self) -> None: ...


class VirtualDisplay(OffscreenWindow):
    """A display of a chosen refresh. blocks: a swap comes back at the refresh that shows it. is_called: it waits for
    the compositor's call. lag_ns: where it is given, the display reports each present, so long after the swap's
    return."""

    def __init__(
        self,
        time: VirtualTime,
        refresh_ns: int,
        blocks: bool = True,
        lag_ns: int | None = None,
        is_called: bool = False,
    ) -> None:
        super().__init__((64, 48))
        self.renderer = "virtual"
        self.presents_ns: list[int] = []
        self.waits_s: list[float] = []
        self.input: list[Event] = []
        self.is_hidden = False
        self._time, self._refresh_ns, self._blocks, self._lag_ns = time, refresh_ns, blocks, lag_ns
        self._reports: list[Presented] = []
        self.is_called = is_called  # type: ignore[misc]
        self._is_woken = threading.Event()
        self.present_source = "timer" if not blocks else "swap" if lag_ns is None else "display"  # type: ignore[misc]

    def poll(self) -> list[Event]:
        found, self.input = self.input, []
        return found

    def wait_events(self, timeout_s: float) -> list[Event]:
        """Until something happens: what physics tells comes by the thread that the loop has for it."""
        end_ns = self._time.at_ns + round(timeout_s * 1e9)
        self.waits_s.append(timeout_s)
        if self._time.next_ns <= end_ns:
            self._is_woken.clear()
            self._time.advance_to(self._time.next_ns)
            assert self.input or self._is_woken.wait(PATIENCE_S)
        else:
            self._time.advance_to(end_ns)
        return self.poll()

    def wake(self) -> None:
        self._is_woken.set()

    def swap(self, meanwhile: Callable[[AwaitCall], None] | None = None) -> None:
        super().swap()
        end_ns = self._time.at_ns + SWAP_NS
        if self.is_called and meanwhile is not None:
            self._time.advance_to(end_ns)
            meanwhile(self._await_call)
            end_ns = max(end_ns, self._time.at_ns)
        if self._blocks:
            end_ns = self._refresh_from(end_ns)
        self._time.advance_to(end_ns)
        self.presents_ns.append(end_ns + (self._lag_ns or 0))
        if self._lag_ns is not None:
            self._reports.append(Presented(self.swap_number, end_ns + self._lag_ns, self._refresh_ns, "vsync"))

    def _refresh_from(self, instant_ns: int) -> int:
        return START_NS + math.ceil((instant_ns - START_NS) / self._refresh_ns) * self._refresh_ns

    def _await_call(self, timeout_ns: int) -> bool:
        call_ns, end_ns = self._refresh_from(self._time.at_ns), self._time.at_ns + timeout_ns
        self._time.advance_to(min(call_ns, end_ns))
        return call_ns <= end_ns

    def drain_presents(self) -> list[Presented]:
        said = [report for report in self._reports if report.present_ns <= self._time.at_ns]
        self._reports = self._reports[len(said) :]
        return said


class VirtualViewer:
    """A frame loop on a virtual display, and the simulation that it draws, a ball that leaves a still view. load_ms: by
    frame, what drawing takes."""

    def __init__(
        self,
        name: str,
        hz: float = 60.0,
        blocks: bool = True,
        lag_ns: int | None = None,
        is_called: bool = False,
        screenshots: Screenshots | None = None,
        **config: object,
    ) -> None:
        self.time = time = VirtualTime()
        self.refresh_ns = round(1e9 / hz)
        self.load_ms: Callable[[int], float] = lambda _frame: 2.0
        listener = open_listener(name)
        self.host = Host(listener, Scene([Sphere(0.5)]), 1)
        self.host.ring.writer._now_ns = lambda: time.at_ns
        self._bodies = new_bodies(1)
        self._plans = self.tick = 0
        self.plan(1.0)
        self.publish()
        usual = {
            "offscreen": True, "overlay": False, "size_px": (64, 48), "quality": "low", "clock": "ahead",
            "camera": "still",
        }  # fmt: skip
        chosen = usual | config
        settings = Config(**chosen)  # type: ignore[arg-type]
        self.display = VirtualDisplay(time, self.refresh_ns, blocks, lag_ns, is_called)
        self.link = attach(listener.name)
        pacer = Pacer(settings.pacing, settings.fps, Refresh(blocks, self.refresh_ns, "virtual", is_called=is_called))
        timer = FrameTimer(VirtualProcessor(time), now_ns=time.now_ns, sleep=time.sleep)
        self.loop = FrameLoop(settings, self.display, self.link, pacer, FrameLog(), screenshots, timer=timer)
        self.loop.is_starting = False
        self.slept = 0  # calls in place of frames
        renderer = self.loop.stage.renderer
        finish = renderer.finish

        def finish_after_load() -> None:
            finish()
            time.advance_to(time.at_ns + round(self.load_ms(self.loop.record.log.count) * MS))

        renderer.finish = finish_after_load  # type: ignore[method-assign]
        self.publish_on()

    def plan(self, rate: float) -> None:
        self._plans += 1
        sim_time_ns = self.time.at_ns - START_NS
        self.host.ring.write_plan(Plan(self._plans, 0, self.time.at_ns, sim_time_ns, rate))

    def publish(self) -> None:
        head = Head(
            tick=self.tick,
            sim_time_ns=self.tick * STEP_NS,
            due_ns=START_NS + self.tick * STEP_NS,
            dt_ns=STEP_NS,
            count=1,
        )
        self._bodies["position"][0, 0] = self.tick
        publish(self.host.ring, head, self._bodies)
        self.tick += 1

    def publish_on(self) -> None:
        """Publishes step after step, each LEAD_NS before it is due."""
        self.publish()
        self.time.at(START_NS + self.tick * STEP_NS - LEAD_NS, self.publish_on)

    def stop_physics(self) -> None:
        """Nothing happens from now on but what a test asks for."""
        self.time._due.clear()

    def frames(self, count: int) -> list[FrameRow]:
        """Makes so many frames; their log rows."""
        first = self.loop.record.log.count
        for _ in range(count):
            self.loop.frame()
        return [self.loop.record.log.rows.row(i) for i in range(first, first + count)]

    def run(self, seconds: float) -> list[FrameRow]:
        """As a viewer's process does: frames, and sleep where nothing moves or nobody sees it."""
        end_ns, first = self.time.at_ns + round(seconds * 1e9), self.loop.record.log.count
        while self.time.at_ns < end_ns:
            if self.display.is_hidden:
                self.loop.sleep_while_hidden()
                self.slept += 1
            elif self.loop.is_idle:
                self.loop.sleep()
                self.slept += 1
            else:
                self.loop.frame()
        return [self.loop.record.log.rows.row(i) for i in range(first, self.loop.record.log.count)]

    def close(self) -> None:
        self.loop.close()
        self.link.close()
        self.host.end()
        self.display.close()

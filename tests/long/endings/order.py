"""One kill order: real processes that are started, stopped, continued and ended, and what is left of them.

One idea: of each process it is known what was done to it (`cast`), so at the end it can be said whether it had to go
on, had to end, and with which words (`verdict`). Always: after `finish` no process of the order is left, whatever was
found; what was found stands in `wrong`.
"""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Callable, Mapping

from tests.end_to_end.processes import pause
from tests.long.endings import kernel
from tests.long.endings.cast import ENDED_WELL, ENDING_NAMES, NAME, Actor, Cast, send
from tests.long.endings.verdict import is_dropped_by_python, is_unborn, wrong_with
from twixt.ipc import session
from twixt.ipc.errors import TwixtError
from twixt.ipc.ring import events

# What takes longer than this hangs.
PATIENCE_S = 60.0
# Snapshots or words that whoever goes on makes while it is watched.
SIGNS_OF_LIFE = 2
OF_EVENTS = "memory of events, seen and gone"


class Order:
    """One of them. told: counts endings by role."""

    def __init__(self, environ: Mapping[str, str], told: Counter[str]) -> None:
        self.cast, self._told = Cast(environ), told
        self.wrong: list[str] = []
        self.clean_up_s = 0.0
        self._again: list[Actor] = []
        self._names_before = kernel.posix_names()

    def await_end_of_launcher(self) -> None:
        """After something that ends it."""
        launcher = self.cast.launcher
        if launcher.is_stopped:
            self.cast.signal_physics(signal.SIGCONT)
        if not self._until(lambda: launcher.is_gone or self._asked_again(launcher)):
            self.wrong.append(f"hung: {launcher.name} did not end in {PATIENCE_S:g} s")

    def finish(self, last: str) -> None:
        """Everything goes on; who has to end ends, the others live; then `last` ends the rest, and nothing is left."""
        try:
            self.cast.continue_all()
            self._those_that_have_to_end()
            self._those_that_go_on()
            self._end_the_rest(last)
            self._nothing_is_left()
            self._judge()
        finally:
            self.cast.dismiss()

    def story(self) -> str:
        """All that happened and was said."""
        said = [
            f"  {actor.name}: {sorted(actor.happened)}, code {actor.run.process.returncode}\n"
            f"    out: {actor.run.out[-300:]!r}\n    err: {actor.run.err[-3000:]!r}"
            for actor in (*self.cast.launchers, *self.cast.viewers)
        ]
        return "\n".join(["wrong: " + "; ".join(self.wrong), *("  " + line for line in self.cast.history), *said])

    def _those_that_have_to_end(self) -> None:
        """They do so by themselves."""
        if any(launcher.has_to_end for launcher in self.cast.launchers):
            for viewer in self.cast.viewers:  # of whichever launcher: one that came late may look at its successor
                viewer.has_to_end = viewer.has_to_end or self.cast.launcher.has_to_end
        ending = [actor for actor in (*self.cast.launchers, *self.cast.viewers) if actor.has_to_end]
        is_late = any(not actor.is_gone for actor in ending) and "time over" not in self.cast.launcher.happened
        if not self._until(lambda: all(actor.is_gone or self._asked_again(actor) for actor in ending)):
            hung = [actor.name for actor in ending if not actor.is_gone]
            self.wrong.append(f"hung: {hung} did not end in {PATIENCE_S:g} s")
        elif is_late:
            self._took(f"{len(ending)} that had to end")

    def _asked_again(self, actor: Actor) -> bool:
        """Never true: asks once more, as a user would, where Python dropped Ctrl-C before the script had twixt."""
        if actor.role == "loop" and actor not in self._again and is_dropped_by_python(actor.happened, actor.run.err):
            self._again.append(actor)
            self._told["Ctrl-C that Python dropped in an import of a script"] += 1
            self.cast.note(f"SIGINT to {actor.name} again")
            send(actor.run.process.pid, signal.SIGINT)
        return False

    def _those_that_go_on(self) -> None:
        """Who was not made to end is there and does its work."""
        launcher = self.cast.launcher
        if launcher.has_to_end:
            return
        survivors = [launcher]
        if len(self.cast.launchers) == 1:
            survivors += [viewer for viewer in self.cast.viewers if not viewer.has_to_end]
        if launcher.role != "loop":
            self._physics_goes_on()
            survivors.remove(launcher)
        for actor in survivors:
            before = actor.signs()
            self._until(lambda: actor.is_gone or actor.signs() >= before + SIGNS_OF_LIFE)  # noqa: B023
            code = actor.run.process.returncode
            if code == 2 and actor.may_find_nobody:
                continue
            if actor.is_gone:
                self.wrong.append(f"{actor.name} ended with {code}, though nothing had happened to it")
            elif actor.signs() < before + SIGNS_OF_LIFE:
                self.wrong.append(f"hung: {actor.name} does not go on")
            else:
                self._told[f"{actor.role}: went on"] += 1

    def _physics_goes_on(self) -> None:
        deadline_s, link = time.monotonic() + PATIENCE_S, None
        while link is None:
            try:
                link = session.attach(NAME, PATIENCE_S)
            except TwixtError as error:  # it is still starting
                if self.cast.launcher.is_gone or time.monotonic() > deadline_s:
                    self.wrong.append(f"physics does not go on: {error}")
                    return
                pause()
        seen: set[int] = set()

        def steps() -> bool:
            link.poll()
            seen.update(view.head.tick for view in link.unread(1 << 26))
            return link.ended is not None or len(seen) > SIGNS_OF_LIFE

        if not self._until(steps) or link.ended is not None:
            self.wrong.append(f"physics does not go on: {link.ended or 'no new snapshots'}")
        else:
            self._told[f"{self.cast.launcher.role}: went on"] += 1
        link.close()

    def _end_the_rest(self, last: str) -> None:
        self.cast.look()
        launcher = self.cast.launcher
        if not launcher.is_gone:
            if last == "close" and launcher.role == "run":
                self.cast.close(len(self.cast.viewers))
            elif last == "close" and launcher.role == "loop":
                self.cast.note("the loop is to end")
                launcher.happened.add("close")
                launcher.has_to_end = True
                send(launcher.run.process.pid, signal.SIGUSR1)
            if not launcher.has_to_end:
                number = signal.Signals[last] if last.startswith("SIG") else signal.SIGINT
                self.cast.signal_physics(number, whole_group=last == "Ctrl-C")
        elif not kernel.pids_of(self.cast.mark):
            return
        if self._until(lambda: not kernel.pids_of(self.cast.mark) and not self._memory_left()):
            self._took("the end of all")
        else:
            self.wrong.append(
                f"hung: {list(kernel.pids_of(self.cast.mark).values())} goes on {PATIENCE_S:g} s after all"
            )

    def _nothing_is_left(self) -> None:
        self._until(lambda: not self._memory_left())
        if left := self._memory_left():
            self.wrong.append(f"memory left: {sum(self.cast.memories[one] for one in left)} bytes")
        elif events.memory_bytes() in self.cast.memories.values():
            self._told[OF_EVENTS] += 1
        if named := [*kernel.system_v_of(self.cast.pids), *(kernel.posix_names() - self._names_before)]:
            self.wrong.append(f"memory left: {named}")
        files = sorted(path.name for path in self.cast.runtime_folder.rglob("*") if not path.is_dir())
        # By SIGTERM too, where nobody listens for it: a script of the user's, a command that has not come far enough.
        killed = any((launcher.run.process.poll() or 0) < 0 for launcher in self.cast.launchers)
        if files and not (killed and files == [f"{NAME}.socket"]):
            self.wrong.append(f"files left: {files}")
        elif files:
            self._told["socket of a killed simulation, replaced by the next"] += 1
        try:
            session.open_listener(NAME).close()
        except TwixtError as error:
            self.wrong.append(f"the next start is hindered: {error}")
        if files := [path.name for path in self.cast.runtime_folder.rglob("*") if not path.is_dir()]:
            self.wrong.append(f"files left after the next start: {files}")

    def _memory_left(self) -> set[kernel.Memory]:
        return set(kernel.memories_of(kernel.all_pids()).keys() & self.cast.memories.keys())

    def _judge(self) -> None:
        about_physics = {
            f"physics {what}" for one in self.cast.launchers for what in one.happened if what in ENDING_NAMES
        }
        if any(one.happened & ENDED_WELL or one.role == "loop" for one in self.cast.launchers):
            about_physics.add("physics ended")
        for viewer in self.cast.viewers:
            viewer.happened |= about_physics | ({"nobody there"} if about_physics or viewer.may_find_nobody else set())
        for actor in (*self.cast.launchers, *self.cast.viewers):
            if not actor.is_gone:
                continue
            try:
                code = actor.run.end()
            except AssertionError as error:
                self.wrong.append(f"{actor.name}: {error}")
                continue
            said = actor.run.out + actor.run.err
            if wrong := wrong_with(actor.role, actor.happened, code, said):
                self.wrong.append(f"{actor.name}: {wrong}")
            if is_unborn(actor.happened, said):
                self._told["Ctrl-C in Python's own start"] += 1
            self._told[f"{actor.role}: ended with {code}"] += 1

    def _took(self, what: str) -> None:
        took_s = time.monotonic() - self.cast.last_act_s
        self.clean_up_s = max(self.clean_up_s, took_s)
        self.cast.history.append(
            f"{(time.monotonic() - self.cast.began_s) * 1e3:6.0f} ms  {what}: {took_s * 1e3:.0f} ms"
        )

    def _until(self, condition: Callable[[], bool]) -> bool:
        deadline_s = time.monotonic() + PATIENCE_S
        while not condition():
            if time.monotonic() > deadline_s:
                return False
            pause()
        return True

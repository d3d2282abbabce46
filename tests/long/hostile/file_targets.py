"""Files that were written by another run, another tool, or cut off: frame logs, reports, logs of steps."""

from __future__ import annotations

import contextlib
import io
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from tests.long.hostile.mutate import Mutator
from tests.long.hostile.target import Target
from tests.render.measure.runs import even
from twixt.cli.compare import compare_files, differences
from twixt.ipc.config.files import write_json
from twixt.render.measure.frame_log import FrameLog, read_log
from twixt.render.measure.report import of_log, report_log
from twixt.sim.schedule.step_multiple import HEADER, read_dt_log

# Printing takes far longer than reading: not all that reads well is printed.
PRINTED_EVERY, DRAWN_EVERY = 20, 1000


class FileTarget(Target):
    """A folder for files, in memory where there is one."""

    def __init__(self, mutator: Mutator) -> None:
        super().__init__(mutator)
        self.folder = tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
        self.fed_count = 0

    def path(self, name: str, content: bytes | None = None) -> str:
        path = Path(self.folder.name, name)
        if content is not None:
            path.write_bytes(content)
        return str(path)

    def __exit__(self, *_: object) -> None:
        self.folder.cleanup()


def terminal() -> io.TextIOWrapper:
    """A standard output as the command line sets it."""
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace")


def a_log(path: str, frames: int, **other: Any) -> bytes:
    """The file of a run that went well."""
    log = FrameLog(path)
    for row in even(frames, **other):
        log.add(row)
    log.close()
    return Path(path).read_bytes()


class FrameLogTarget(FileTarget):
    """`twixt report`, `twixt compare` of a log that anybody may have edited."""

    def __init__(self, mutator: Mutator) -> None:
        super().__init__(mutator)
        self._whole = self.path("whole.csv")
        # Long ones for what needs a quarter of a second; short ones, in which a change is more likely to matter.
        self._corpus = [
            a_log(self._whole, 3), a_log(self._whole, 40, planned_refreshes=1), a_log(self._whole, 40, mode="held")
        ]  # fmt: skip

    def feed(self) -> None:
        draw = self.mutator.random
        self.fed_count += 1
        if draw.random() < 0.5:
            spoilt = self.mutator.bytes(self._corpus)
        else:
            spoilt = self._with_cells(draw.choice(self._corpus))
        self.fed = spoilt
        path = self.path("spoilt.csv", spoilt)
        table = read_log(path)
        report = of_log(table, "twixt report")
        with contextlib.redirect_stdout(terminal()):
            write_json(report, "-")
            if self.fed_count % PRINTED_EVERY == 0:
                report_log(path, plot=self.path("plot.png") if self.fed_count % DRAWN_EVERY == 0 else None)
                compare_files(path, self._whole)

    def _with_cells(self, content: bytes) -> bytes:
        """Some cells hold what no run writes."""
        draw = self.mutator.random
        lines = [line.split(",") for line in content.decode().splitlines()]
        for _ in range(draw.randint(1, 4)):
            line = draw.choice(lines)
            if line:
                line[draw.randrange(len(line))] = self.mutator.text(line)
        return "\n".join(",".join(line) for line in lines).encode("utf-8", "surrogatepass")


class ReportTarget(FileTarget):
    """`twixt compare` of a report that anybody may have edited."""

    def __init__(self, mutator: Mutator) -> None:
        super().__init__(mutator)
        self._whole = self.path("whole.csv")
        a_log(self._whole, 40)
        self._report = self.path("report.json")
        write_json(of_log(read_log(self._whole), "twixt report"), self._report)
        self._text = Path(self._report).read_bytes()

    def feed(self) -> None:
        draw = self.mutator.random
        self.fed_count += 1
        if draw.random() < 0.3:
            spoilt = self.mutator.bytes([self._text])
        else:
            value = self.mutator.json(json.loads(self._text))
            if draw.random() < 0.9 and isinstance(value, dict):
                value["schema"] = json.loads(self._text)["schema"]
            spoilt = json.dumps(value).encode()
        self.fed = spoilt
        path = self.path("spoilt.json", spoilt)
        from twixt.cli.compare import _change, _read

        report, _ = _read(path)
        known, _ = _read(self._report)
        for _name, of_a, of_b in differences(report, known):
            _change(of_a, of_b)
        if self.fed_count % PRINTED_EVERY == 0:
            with contextlib.redirect_stdout(terminal()):
                compare_files(path, self._whole)


class DtLogTarget(FileTarget):
    """`--dt-replay` of a log of steps that anybody may have edited."""

    def __init__(self, mutator: Mutator) -> None:
        super().__init__(mutator)
        self._text = f"{HEADER}\nworld balls\nseed 0\ndt 0.016666666666666666\nset count=500\n120 1\n35 4\nend 155\n"

    def feed(self) -> None:
        draw = self.mutator.random
        if draw.random() < 0.5:
            spoilt = self.mutator.bytes([self._text.encode()])
        else:
            spoilt = self.mutator.text([self._text]).encode("utf-8", "surrogatepass")
        self.fed = spoilt
        read_dt_log(self.path("spoilt.txt", spoilt))

"""All targets by name, in the order in which `make fuzz` takes them. Each is made when it is asked for."""

from __future__ import annotations

import importlib

from tests.long.hostile.mutate import Mutator
from tests.long.hostile.target import Target

HOMES = {
    "segment": ("memory_targets", "SegmentTarget"),
    "head": ("memory_targets", "HeadTarget"),
    "plan": ("memory_targets", "PlanTarget"),
    "events": ("event_targets", "EventRingTarget"),
    "scene": ("memory_targets", "SceneTarget"),
    "to-host": ("talk_targets", "ToHostTarget"),
    "to-viewer": ("talk_targets", "ToViewerTarget"),
    "events-message": ("event_targets", "EventsMessageTarget"),
    "commands": ("talk_targets", "CommandTarget"),
    "frame-log": ("file_targets", "FrameLogTarget"),
    "report": ("file_targets", "ReportTarget"),
    "dt-log": ("file_targets", "DtLogTarget"),
    "arguments": ("word_targets", "ArgumentsTarget"),
    "environment": ("word_targets", "EnvironmentTarget"),
    "processes": ("word_targets", "ProcessesTarget"),
    "picture": ("picture_targets", "PictureTarget"),
}


# One input takes so many times as long as another's; so many fewer are made.
SLOW = {"processes": 500, "picture": 20}


class _Made:
    def __init__(self, module: str, name: str) -> None:
        self._module, self._name = module, name

    def __call__(self, mutator: Mutator) -> Target:
        return getattr(importlib.import_module(f"tests.long.hostile.{self._module}"), self._name)(mutator)


TARGETS = {name: _Made(*home) for name, home in HOMES.items()}

"""Panel items for the program's events: a section with the events a second by name, and those that were lost."""

from __future__ import annotations

from typing import Any

from twixt.render.events.event_counts import EventFacts
from twixt.render.overlay import widgets as ui
from twixt.render.overlay.widgets import PanelItem

EVENTS = "events"  # name of the section


def event_items(imgui: Any, facts: EventFacts | None, dropped: int, opened: set[str]) -> list[PanelItem]:
    """Items of the section; none if `facts` is None. dropped: number of events that were too many for one step.
    opened: names of the open sections."""
    if facts is None:
        return []
    line, is_open = imgui.get_text_line_height() + ui.SPACING, EVENTS in opened
    missing = {"lost": facts.lost, "dropped": dropped}
    warning = ", ".join(f"{count:,} {how}" for how, count in missing.items() if count)

    def heading() -> None:
        ui.section(imgui, EVENTS, opened, warning)
        if not warning and not is_open:
            ui.beside(imgui, f"{sum(facts.rates.values()):,}/s")

    items = [PanelItem(0 if is_open else 2, line, heading)]
    if not is_open:
        return items

    def row(name: str, value: str) -> PanelItem:
        return PanelItem(0, line, lambda: ui.row(imgui, name, value))

    items += [row(" ".join(name.split()), f"{count:,}/s") for name, count in facts.rates.items()]
    return items + [row(how, f"{count:,}") for how, count in missing.items() if count]

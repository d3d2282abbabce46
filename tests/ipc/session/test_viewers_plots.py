"""Live plots on their way to viewers."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

Until = Callable[[Callable[[], Any]], Any]


def shown(link: Any) -> dict[str, list[float]]:
    link.poll()
    return {plot.name: plot.series[0].ys.tolist() for plot in link.received.plots}


def test_viewers_get_the_points_and_a_late_one_all_that_are_kept(channel: Any, until: Until) -> None:
    host = channel.open(4)
    host.plots.add("e", (0.0, 1.0), {})
    early = channel.attach()
    until(lambda: shown(early) == {"e": [1.0]})
    host.plots.add("e", (1.0, 2.0), {})
    host.plots.add("other", (0.0, 5.0), {})
    until(lambda: shown(early) == {"e": [1.0, 2.0], "other": [5.0]})
    late = channel.attach()
    until(lambda: shown(late) == {"e": [1.0, 2.0], "other": [5.0]})


def test_images_and_plots_do_not_replace_each_other(channel: Any, until: Until) -> None:
    host = channel.open(4)
    link = channel.attach()
    host.write_overlay("figures", {"figures": []}, b"")
    host.plots.add("e", (0.0, 1.0), {})
    until(lambda: shown(link) == {"e": [1.0]})
    assert set(host.overlays) == {"figures"}


def test_a_forked_child_plots_nothing(channel: Any) -> None:
    host = channel.open(4)
    child = os.fork()
    if not child:
        host.plots.add("e", (0.0, 1.0), {})
        os._exit(len(host.plots._plots))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

"""Quality levels of the page, chosen in a model of a display and a GPU."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from tests.web.in_node import run_in_node

# The model: refreshes of a display of 60 Hz, a GPU that takes `costMs` for a picture and has at most two in its queue,
# and a page that hands a picture over `workMs` after the begin of its frame. A cheaper level takes `share` of the time.
SCRIPT = """
const {LEVELS, QualityLadder} = await import(WEB + "renderer.js");
const REFRESH_MS = 1000 / 60;
let seed = 1;
const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
const has = {density: false, shadows: true, silhouettes: true, spheres: true};

function run({costMs, share = 0.75, workMs = 2, seconds, untilS = Infinity, hiccup = null, noise = false, hiddenS = null,
    stillS = null, saves = has, estimateMs = REFRESH_MS}) {
  const ladder = new QualityLadder(), found = {changes: [], pictures: 0, callbacks: 0};
  let queue = [], freeMs = 0, handedMs = null, level = LEVELS[0];
  for (let refresh = 0; refresh * REFRESH_MS < 1e3 * seconds; refresh++) {
    let timestampMs = refresh * REFRESH_MS;
    const atS = timestampMs / 1e3;
    if (hiddenS && atS > hiddenS[0] && atS < hiddenS[1]) { ladder.forget(); continue; }
    queue = queue.filter((doneMs) => doneMs > timestampMs);
    if (queue.length > 1) continue;
    const beginMs = timestampMs + 1 + (noise ? 6 * random() : 0);
    const isBusy = queue.some((doneMs) => doneMs > beginMs);
    const busyMs = handedMs === null ? null : isBusy ? beginMs - handedMs : 0;
    ladder.frame(timestampMs, refresh > 60 ? estimateMs : REFRESH_MS, busyMs, saves);
    found.callbacks += 1;
    if (ladder.level !== level) found.changes.push([atS, ladder.level.name]);
    level = ladder.level;
    if (level.isFenced && isBusy) continue;
    handedMs = null;
    if (stillS && atS > stillS[0] && atS < stillS[1]) continue;
    let takesMs = (atS < untilS ? costMs : 3) * share ** LEVELS.indexOf(level);
    if (noise && random() < 0.04) takesMs += 20 + 120 * random();
    if (noise && random() < 0.3) takesMs += 14 * random();
    if (hiccup && atS >= hiccup[0]) { takesMs += 1e3 * hiccup[1]; hiccup = null; }
    handedMs = beginMs + workMs;
    freeMs = Math.max(freeMs, handedMs) + takesMs;
    queue.push(freeMs);
    found.pictures += 1;
    refresh += Math.floor((beginMs - timestampMs + workMs) / REFRESH_MS);
  }
  return {...found, level: level.name};
}
answer({levels: LEVELS, runs: Object.fromEntries(Object.entries(given).map(([name, how]) => [name, run(how)]))});
"""
RUNS: dict[str, dict[str, Any]] = {
    "light": {"costMs": 3, "seconds": 60},
    "light, cores taken": {"costMs": 3, "seconds": 600, "noise": True},
    "hiccups": {"costMs": 3, "seconds": 30, "hiccup": [10, 1.5]},
    "main thread": {"costMs": 8, "seconds": 30, "workMs": 40},
    "hidden": {"costMs": 3, "seconds": 60, "hiddenS": [10, 40]},
    "heavy": {"costMs": 40, "seconds": 10},
    "too heavy for one level": {"costMs": 80, "share": 0.5, "seconds": 1000},
    "heavy, estimate of 30 Hz": {"costMs": 30, "seconds": 10, "estimateMs": 1000 / 30},
    "a little too heavy": {"costMs": 18.5, "seconds": 30},
    "far too heavy": {"costMs": 400, "seconds": 60, "share": 0.9},
    "heavy for 20 s": {"costMs": 40, "seconds": 120, "untilS": 20},
    "heavy, then still": {"costMs": 40, "seconds": 120, "stillS": [5, 110]},
    "without shadows": {"costMs": 22, "seconds": 10, "saves": {"density": False, "shadows": False}},
}


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    return run_in_node(SCRIPT, RUNS)


def run(found: dict[str, Any], name: str) -> Any:
    return found["runs"][name]


@pytest.mark.parametrize("name", ["light", "light, cores taken", "hiccups", "main thread", "hidden"])
def test_frames_that_are_late_for_another_reason_than_drawing_lower_nothing(found: dict[str, Any], name: str) -> None:
    assert run(found, name)["changes"] == []


def test_each_level_leaves_out_what_the_finer_ones_leave_out(found: dict[str, Any]) -> None:
    levels = found["levels"]
    assert [level["name"] for level in levels if level["isFenced"]] == [levels[-1]["name"]]
    for finer, coarser in pairwise(levels):
        assert coarser["density"] <= finer["density"]
        assert all(finer[part] >= coarser[part] for part in ("shadows", "silhouettes", "fine"))


def test_a_heavy_scene_is_drawn_at_a_lower_quality_within_about_a_second(found: dict[str, Any]) -> None:
    for name in ("heavy", "heavy, estimate of 30 Hz"):
        (at_s, _), *_ = run(found, name)["changes"]
        assert at_s < 1.3, name


def test_a_finer_level_that_does_not_last_is_tried_ever_more_seldom(found: dict[str, Any]) -> None:
    changes = run(found, "too heavy for one level")["changes"]
    tried_s = [at_s for at_s, name in changes[1:] if name == "no shadows"]
    gaps_s = [later - earlier for earlier, later in pairwise(tried_s)]
    assert len(gaps_s) >= 4
    assert all(later > 1.5 * earlier for earlier, later in pairwise(gaps_s))


def test_a_scene_that_needs_little_more_than_a_refresh_loses_one_level(found: dict[str, Any]) -> None:
    changes = run(found, "a little too heavy")["changes"]
    assert changes[0][1] == "no shadows"
    assert changes[0][0] < 10


def test_what_the_scene_does_not_have_is_passed_over(found: dict[str, Any]) -> None:
    assert run(found, "without shadows")["changes"][0][1] == "hard edges of meshes"


def test_far_too_heavy_scenes_get_fewer_pictures_while_the_callbacks_go_on(found: dict[str, Any]) -> None:
    heavy = run(found, "far too heavy")
    assert heavy["level"] == "fewer pictures"
    assert heavy["callbacks"] > 50 * 60
    assert heavy["pictures"] < 10 * 60


def test_the_full_quality_comes_back_when_the_load_has_gone(found: dict[str, Any]) -> None:
    assert run(found, "heavy for 20 s")["level"] == "full"


def test_frames_without_a_picture_are_no_room(found: dict[str, Any]) -> None:
    changes = run(found, "heavy, then still")["changes"]
    assert [at_s for at_s, _ in changes if 7 < at_s < 110] == []

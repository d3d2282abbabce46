"""Pointer, wheel and touch on the page's picture, and the page's view."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import pytest

from tests.web.in_node import run_in_node

# A picture of 800 x 600 px with three balls of radius 0.5 m on the x axis. Each list of acts has a page of its own.
# The acts are frames, events of the pointer and the wheel, and calls.
SCRIPT = """
const {View} = await import(WEB + "camera.js");
const {Hands} = await import(WEB + "user_input.js");
const {atRest, DrawnPoses} = await import(WEB + "pose.js");
const {Scene} = await import(WEB + "scene.js");
const head = {
  shapes: [{kind: "sphere", radius: 0.5, color: null, material: null}], part_shapes: [], meshes: [], materials: [],
  textures: [], color_by: null, part_columns: [], outline: null, parents: 0, groups: [], members: [], bodies: 1,
};
const scene = new Scene({version: 1, head, shapeIndex: Uint16Array.of(0), indices: new Uint32Array(0)});
const snapshotOf = (places, simNs, worldEpoch = 0) => {
  const words = new Uint32Array(16 * places.length), floats = new Float32Array(words.buffer);
  places.forEach((place, body) => {
    floats.set(place, 16 * body);
    floats[16 * body + 7] = 1;
    words[16 * body + 11] = 1 | (0x3c00 << 16);
  });
  return {words, floats, count: places.length, simNs, worldEpoch, rate: 1, columns: new Map()};
};
class Canvas extends EventTarget {
  clientWidth = 400;
  clientHeight = 300;
  getBoundingClientRect() { return {left: 10, top: 20}; }
  setPointerCapture() {}
}
const BODIES = [[0, 0, 0], [3, 0, 0], [-3, 0, 0]];
answer(given.map(({camera, acts, mayPull = true, draggable = []}) => {
  const canvas = new Canvas(), view = new View(), clicks = [], pulls = [], frames = [];
  let drawn = null, timeMs = 0;
  const hands = new Hands(canvas, {
    view, drawn: () => drawn, onClick: (click) => clicks.push(click), mayPull: () => mayPull,
    onPull: (pull) => pulls.push(pull) > 0,
  });
  hands.draggable = new Set(draggable);
  view.setCamera(camera);
  const frame = (places = BODIES) => {
    timeMs += 1000 / 60;
    const newest = snapshotOf(places, timeMs * 1e6);
    const poses = new DrawnPoses(atRest(newest), "none");
    view.advance(timeMs, {scene, newest, poses, placesOf: () => null}, 800, 600, hands.isHeld);
    const {eye, target} = view.matrices(800, 600);
    drawn = {scene, poses, drawNs: newest.simNs};
    hands.report(timeMs);
    frames.push({eye, target, distanceM: view.orbit.distanceM, followed: view.followed, isAll: view.isFollowingAll,
                 grabbed: hands.grabbed, isHeld: hands.isHeld, ndc: places.map((place) => ndcOf(view.seen.matrices, place))});
  };
  const ndcOf = ({view: v, projection: p}, [x, y, z]) => {
    const at = [0, 4, 8].map((row) => v[row] * x + v[row + 1] * y + v[row + 2] * z + v[row + 3]);
    return [p[0] * at[0] / -at[2], p[5] * at[1] / -at[2], -at[2]];
  };
  for (const [act, value] of acts) {
    if (act === "frame") frame(value);
    else if (act === "frames") for (const places of value) frame(places);
    else if (act === "view") view[value[0]](...value.slice(1));
    else if (act === "forget") hands.forget();
    else if (act === "letGo") hands.letGo(timeMs);
    else {
      const defaults = {pointerId: 1, pointerType: "mouse", button: 0, buttons: act === "pointerup" ? 0 : 1};
      const {x, y, afterMs = 0, ...given} = {...defaults, ...value};
      const event = Object.assign(new Event(act, {cancelable: true}), given, {clientX: x + 10, clientY: y + 20});
      Object.defineProperty(event, "timeStamp", {value: timeMs + afterMs});
      canvas.dispatchEvent(event);
    }
  }
  return {frames, clicks, pulls, orbit: view.orbit.toHead()};
}));
"""
CAMERA = {
    "eye": (0, -10, 0), "target": (0, 0, 0), "fov_y_deg": 40, "body": None, "orthographic_height": None,
    "rotates_with_body": True, "up": (0, 0, 1), "principal_point": (0, 0), "locked": False,
}  # fmt: skip
FRAME: list[Any] = ["frame"]
MIDDLE = {"x": 200, "y": 150}  # CSS px: body 0
METRES_PER_PX = 2 * 10 * math.tan(math.radians(20)) / 300
OTHER = {"x": 200 + 3 / METRES_PER_PX, "y": 150}  # body 1
EMPTY = {"x": 20, "y": 20}


def drag(begin: dict[str, Any], dx: float, dy: float, **values: Any) -> list[Any]:
    """A press, a move and a release. values: of all three events."""
    end = {"x": begin["x"] + dx, "y": begin["y"] + dy}
    return [["pointerdown", begin | values], ["pointermove", end | values], ["pointerup", end | values]]


def click(at: dict[str, Any], **values: Any) -> list[Any]:
    return [["pointerdown", at | values], ["pointerup", at | values]]


def run(*acts: Any, camera: Any = CAMERA, **values: Any) -> Any:
    (found,) = run_in_node(SCRIPT, [{"camera": camera, "acts": list(acts)} | values])
    return found


def test_drags_turn_and_move_the_camera_and_the_wheel_zooms() -> None:
    starts = [FRAME]
    pages = {
        "left": drag(EMPTY, 150, 0), "right": drag(EMPTY, 30, 0, button=2, buttons=2),
        "middle": drag(EMPTY, 0, 30, button=1, buttons=4), "shift": drag(EMPTY, 30, 0, shiftKey=True),
        "wheel": [["wheel", MIDDLE | {"deltaY": -200, "deltaMode": 0}]],
        "notches": [["wheel", MIDDLE | {"deltaY": -12, "deltaMode": 1, "wheelDeltaY": 240}]],
        "lines": [["wheel", MIDDLE | {"deltaY": 3, "deltaMode": 1}]],
    }  # fmt: skip
    cases = [{"camera": CAMERA, "acts": [*starts, *acts, FRAME]} for acts in pages.values()]
    found = dict(zip(pages, (answer["frames"][-1] for answer in run_in_node(SCRIPT, cases)), strict=True))
    assert found["left"]["eye"] == pytest.approx((-10, 0, 0), abs=1e-9)  # half the height: a quarter turn
    assert found["left"]["target"] == pytest.approx((0, 0, 0))
    for name in ("right", "shift"):
        assert found[name]["target"] == pytest.approx((-30 * METRES_PER_PX, 0, 0))
    assert found["middle"]["target"] == pytest.approx((0, 0, 30 * METRES_PER_PX))
    assert found["wheel"]["distanceM"] == pytest.approx(8.1)
    assert found["notches"]["distanceM"] == pytest.approx(8.1)
    assert found["lines"]["distanceM"] == pytest.approx(10 / 0.9)


def test_one_finger_turns_and_two_fingers_move_and_zoom() -> None:
    one, two = {"pointerId": 1, "pointerType": "touch"}, {"pointerId": 2, "pointerType": "touch"}
    begin = [["pointerdown", {"x": 100, "y": 150} | one], ["pointerdown", {"x": 300, "y": 150} | two]]
    apart = run(
        FRAME, *begin, ["pointermove", {"x": 0, "y": 150} | one], ["pointermove", {"x": 400, "y": 150} | two], FRAME
    )
    assert apart["frames"][-1]["distanceM"] == pytest.approx(5)
    assert apart["frames"][-1]["target"] == pytest.approx((50 * METRES_PER_PX - 25 * METRES_PER_PX, 0, 0), abs=1)
    beside = run(
        FRAME, *begin, ["pointermove", {"x": 100, "y": 180} | one], ["pointermove", {"x": 300, "y": 180} | two], FRAME
    )
    assert beside["frames"][-1]["distanceM"] == pytest.approx(10)
    assert beside["frames"][-1]["target"][2] == pytest.approx(30 * METRES_PER_PX, rel=0.02)
    assert beside["clicks"] == []
    finger = run(FRAME, *drag(EMPTY, 0, 75, **one), FRAME)
    assert finger["frames"][-1]["eye"][2] == pytest.approx(10 * math.sin(math.pi / 4))


def test_a_flat_view_is_moved_and_a_locked_camera_stays() -> None:
    flat = CAMERA | {"eye": (0, 0, 10), "orthographic_height": 6.0}
    found = run(FRAME, *drag(EMPTY, 50, 0), FRAME, camera=flat)["frames"][-1]
    assert found["target"] == pytest.approx((-1, 0, 0))
    locked = run(FRAME, *drag(EMPTY, 50, 9), ["wheel", MIDDLE | {"deltaY": 9, "deltaMode": 0}], ["view", ["frameAll"]],
                 *click(OTHER), *click(OTHER), FRAME, camera=CAMERA | {"locked": True})  # fmt: skip
    assert locked["frames"][-1]["eye"] == pytest.approx((0, -10, 0))
    assert [one["body"] for one in locked["clicks"]] == [1, 1]


def test_a_click_has_the_body_and_the_point_under_it() -> None:
    found = run(FRAME, *click(OTHER, button=2, buttons=2), *click(EMPTY), *drag(MIDDLE, 9, 9))
    body, nothing = found["clicks"]
    assert (body["body"], body["button"], body["clicks"]) == (1, "right", 1)
    assert body["point"] == pytest.approx((3 - 0.14, -0.48, 0), abs=0.02)
    assert body["pointerPx"] == pytest.approx([2 * OTHER["x"], 2 * OTHER["y"]])
    assert body["pointer"] == pytest.approx((3, 0, 0), abs=1e-6)
    assert (nothing["body"], nothing["point"]) == (None, None)


def test_a_double_click_follows_a_body_smoothly_until_the_background_is_clicked_twice() -> None:
    moving = [[(0, 0, 0), (3, 0, 0.1 * step), (-3, 0, 0)] for step in range(60)]
    found = run(FRAME, *click(OTHER), *click(OTHER), ["frames", moving], *drag(EMPTY, 30, 0), FRAME,
                *click(EMPTY), *click(EMPTY), FRAME)  # fmt: skip
    frames = found["frames"]
    assert [one["clicks"] for one in found["clicks"]] == [1, 2, 1, 2]
    assert frames[1]["target"] == pytest.approx((0, 0, 0), abs=1)
    assert frames[60]["target"] == pytest.approx(moving[-1][1], abs=0.01)
    assert all(math.dist(one["target"], next_["target"]) < 0.7 for one, next_ in pairwise(frames[:61]))
    assert frames[61]["followed"] == 1
    assert frames[62]["followed"] is None


def test_ctrl_drag_pulls_the_body_under_the_pointer_to_the_pointer() -> None:
    begin = ["pointerdown", OTHER | {"ctrlKey": True}]
    moved = OTHER | {"x": OTHER["x"] + 40, "ctrlKey": True}
    found = run(FRAME, begin, FRAME, ["pointermove", moved], FRAME, ["pointerup", moved], FRAME, FRAME)
    pulls, frames = found["pulls"], found["frames"]
    assert [pull["body"] for pull in pulls] == [1, 1, None]
    assert pulls[0]["at"] == pytest.approx(pulls[0]["target"], abs=1e-6)
    shift_m = 40 * METRES_PER_PX * (10 - 0.48) / 10
    assert pulls[1]["target"][0] - pulls[1]["at"][0] == pytest.approx(shift_m, rel=0.01)
    assert pulls[1]["force"][0] > 0
    assert pulls[1]["is_held"]
    assert frames[2]["grabbed"]["target"] == pytest.approx(pulls[1]["target"])
    assert frames[-1]["grabbed"] is None
    assert frames[-1]["eye"] == pytest.approx((0, -10, 0))  # the camera did not move
    assert found["clicks"] == []


def test_what_the_pointer_does_to_a_pull_is_reported_before_the_next_frame() -> None:
    press, moved = ["pointerdown", OTHER | {"ctrlKey": True}], OTHER | {"x": OTHER["x"] + 40, "ctrlKey": True}
    last = [["pointerrawupdate", moved | {"afterMs": 9}], ["pointerup", moved]]
    fallen = [["frame", [[0, 0, 0], [3, 0, -0.1 * step]]] for step in range(3)]
    pages = [[FRAME, press, ["pointerup", OTHER]], [FRAME, press, *fallen, *last]]
    cases = [{"camera": CAMERA, "acts": acts} for acts in pages]
    clicked, dragged = (each["pulls"] for each in run_in_node(SCRIPT, cases))
    assert [pull["body"] for pull in clicked] == [1, None]
    assert [pull["body"] for pull in dragged] == [1] * 4 + [None]
    assert dragged[-2]["target"][0] > dragged[-3]["target"][0] + 0.5
    assert dragged[-2]["force"][2] == pytest.approx(dragged[-3]["force"][2])  # the body still falls as fast


def test_a_selected_body_is_turned_with_the_left_and_pulled_with_the_right_button() -> None:
    chosen = [FRAME, *click(MIDDLE), *click(MIDDLE), FRAME]
    turn = run(*chosen, ["pointerdown", EMPTY | {"ctrlKey": True}], ["pointermove", {"x": 95, "y": 20}], FRAME)
    last = turn["pulls"][-1]
    assert (last["body"], last["is_turn"]) == (0, True)
    assert last["turn"] == pytest.approx((0, 0, math.pi / 4), abs=1e-6)
    assert last["torque"][2] > 0
    pull = run(*chosen, ["pointerdown", EMPTY | {"ctrlKey": True, "button": 2, "buttons": 2}],
               ["pointermove", {"x": 95, "y": 20, "buttons": 2}], FRAME)["pulls"]  # fmt: skip
    assert (pull[0]["body"], pull[0]["is_held"]) == (0, False)  # selected
    assert (pull[-1]["is_turn"], pull[-1]["is_held"]) == (False, True)


def test_bodies_are_pulled_without_ctrl_only_if_the_program_says_so_and_never_without_control() -> None:
    acts = [FRAME, *drag(MIDDLE, 30, 0), FRAME, *drag(OTHER, 30, 0), FRAME]
    found = run(*acts[:3], FRAME, *acts[3:], draggable=[0])
    assert found["pulls"][0]["body"] == 0
    assert {pull["body"] for pull in found["pulls"]} == {0, None}
    assert run(*acts, draggable=[0, 1], mayPull=False)["pulls"] == []


def test_a_lost_pointer_ends_the_drag() -> None:
    found = run(FRAME, ["pointerdown", MIDDLE | {"ctrlKey": True}], FRAME, ["pointercancel", MIDDLE], FRAME)
    assert [pull["body"] for pull in found["pulls"]] == [0, None]
    assert [frame["isHeld"] for frame in found["frames"]] == [False, True, False]


def test_a_finger_that_stays_on_a_body_for_a_while_pulls_it() -> None:
    finger = OTHER | {"pointerType": "touch"}
    moved = finger | {"x": OTHER["x"] + 40}
    found = run(
        FRAME, ["pointerdown", finger], *[FRAME] * 30, ["pointermove", moved], FRAME, ["pointerup", moved], FRAME
    )
    assert [pull["body"] for pull in found["pulls"]] == [1, 1, None]
    assert found["pulls"][1]["target"][0] > found["pulls"][0]["target"][0] + 0.5
    assert found["frames"][0]["eye"] == found["frames"][-1]["eye"]
    assert found["clicks"] == []
    for acts in ([["pointermove", moved], *[FRAME] * 30], [*[FRAME] * 5, ["pointermove", moved], *[FRAME] * 30]):
        turned = run(FRAME, ["pointerdown", finger], *acts)
        assert turned["pulls"] == []
        assert turned["frames"][0]["eye"] != turned["frames"][-1]["eye"]


def test_a_pull_ends_at_once_when_the_page_is_hidden() -> None:
    found = run(FRAME, ["pointerdown", OTHER | {"ctrlKey": True}], FRAME, ["letGo"])
    assert [pull["body"] for pull in found["pulls"]] == [1, None]


def bounce(step: int) -> list[Any]:
    share = step % 72 / 72
    return [(0, 0, 0.5 + 16 * share * (1 - share))]


def worst(frames: list[Any]) -> float:
    """How far from the middle of the picture a body was: 1 at its border."""
    return max(max(abs(x), abs(y)) for frame in frames for x, y, _ in frame["ndc"])


MOTIONS: dict[str, list[Any]] = {
    "rest": [[(0, 0, 0), (3, 0, 0)]] * 300,
    "bounce": [bounce(step) for step in range(600)],
    "runner": [[(0.05 * step, 0, 1), (0.05 * step, 0.3, 0)] for step in range(600)],
    "apart": [[(0.0042 * step**2, 0, 0), (0, 0, 0)] for step in range(300)],
    "flown off": [[(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0), (0, 0, -0.01 * max(0, step - 60) ** 2)]
                  for step in range(900)],
}  # fmt: skip


@pytest.fixture(scope="module")
def automatic() -> dict[str, list[Any]]:
    cases = [{"camera": None, "acts": [["frames", places]]} for places in MOTIONS.values()]
    return {name: found["frames"] for name, found in zip(MOTIONS, run_in_node(SCRIPT, cases), strict=True)}


@pytest.mark.parametrize("name", MOTIONS)
def test_the_automatic_camera_moves_without_a_jump(automatic: dict[str, list[Any]], name: str) -> None:
    frames = automatic[name][8:]  # in the first moment it cuts
    for one, other in pairwise(frames):
        assert math.dist(one["eye"], other["eye"]) < 0.15 * max(one["distanceM"], other["distanceM"])


@pytest.mark.parametrize("name", [name for name in MOTIONS if name != "flown off"])
def test_the_automatic_camera_keeps_bodies_in_the_picture(automatic: dict[str, list[Any]], name: str) -> None:
    assert worst(automatic[name]) < 1


def test_the_automatic_camera_rests_at_rest_and_with_a_ball_that_bounces(automatic: dict[str, list[Any]]) -> None:
    assert len({tuple(frame["eye"]) for frame in automatic["rest"]}) == 1
    assert len({tuple(frame["eye"]) for frame in automatic["bounce"][300:]}) == 1


def test_the_automatic_camera_stays_near_a_runner_and_leaves_out_a_body_that_flew_off(
    automatic: dict[str, list[Any]],
) -> None:
    assert automatic["runner"][-1]["distanceM"] < 2 * automatic["runner"][0]["distanceM"]
    flown = automatic["flown off"]
    assert flown[-1]["distanceM"] < 2 * flown[0]["distanceM"] < max(frame["distanceM"] for frame in flown) / 4


def test_a_view_that_the_user_moved_stands_until_all_bodies_are_framed_again() -> None:
    away = [[(0.1 * step, 0, 0)] for step in range(120)]
    found = run(["frames", away[:2]], *drag(EMPTY, 5, 0), ["frames", away], ["view", ["frameAll"]], ["frames", away[-1:]],
                camera=None)["frames"]  # fmt: skip
    assert [found[at]["isAll"] for at in (0, 1, 2, 121, 122)] == [True, True, False, False, True]
    assert found[2]["target"] == found[121]["target"]
    assert found[122]["target"] == pytest.approx(away[-1][0], abs=1e-6)


def test_the_first_bodies_of_an_empty_world_are_framed() -> None:
    found = run(["frames", [[], [], [(50, 0, 0)]]], camera=None)["frames"]
    assert found[-1]["target"] == pytest.approx((50, 0, 0), abs=1e-6)


def test_a_body_carries_the_camera() -> None:
    carried = CAMERA | {"body": 1}
    found = run(["frames", [[(0, 0, 0), (3, 0, 0)], [(0, 0, 0), (3, 5, 0)], [(0, 0, 0)]]], camera=carried)["frames"]
    for frame, eye in zip(found, ((3, -10, 0), (3, -5, 0), (3, -5, 0)), strict=True):
        assert frame["eye"] == pytest.approx(eye)

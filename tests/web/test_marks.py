"""Marks of the page: blending, bodies that carry them, and damaged bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.web.in_node import run_in_node
from twixt.ipc.scene.mark_texts import text_records, write_texts
from twixt.ipc.snapshot import MARK, MARK_KINDS, new_bodies
from twixt.render.interpolation.blending import blended, drawable, matched
from twixt.render.interpolation.quaternion import multiply, normalized, rotate

SCRIPT = """
const {blendedMarks, placedMarks} = await import(WEB + "marks.js"), {DrawnPoses} = await import(WEB + "pose.js");
const snapshots = given.snapshots.map(({marks, bodies, vertices}, at) => {
    const words = Uint32Array.from(bodies);
    return {
        markWords: Uint32Array.from(marks), words, floats: new Float32Array(words.buffer), count: words.length / 16,
        vertices, simNs: at * 1e9, columns: new Map(),
    };
});
const pair = {before: null, older: snapshots[0], newer: snapshots[1], share: given.share};
const marks = placedMarks(blendedMarks(pair), new DrawnPoses(pair, "linear"));
answer(marks.map((mark) => ({...mark, key: mark.high * 2 ** 32 + mark.low})));
"""


def some_marks(count: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    marks = np.zeros(count, MARK)
    marks["key"], marks["kind"] = rng.permutation(count) * (2**31 + 1), rng.integers(0, len(MARK_KINDS), count)
    marks["position"], marks["orientation"] = rng.normal(size=(count, 3)), rng.normal(size=(count, 4))
    marks["size"], marks["color"] = rng.uniform(0, 1, (count, 3)), rng.integers(0, 256, (count, 4))
    return marks


def page_marks(older: np.ndarray, newer: np.ndarray, share: float, bodies: np.ndarray, vertices: int = 0) -> list[Any]:
    snapshots = [
        {"marks": marks.view("<u4").tolist(), "bodies": bodies.view("<u4").tolist(), "vertices": vertices}
        for marks in (older, newer)
    ]
    return run_in_node(SCRIPT, {"snapshots": snapshots, "share": share})


def assert_alike(mine: list[Any], native: np.ndarray) -> None:
    assert [mark["key"] for mark in mine] == native["key"].tolist()
    assert [mark["kind"] for mark in mine] == [list(MARK_KINDS)[kind] for kind in native["kind"]]
    np.testing.assert_allclose([mark["position"] for mark in mine], native["position"], atol=1e-5)
    np.testing.assert_allclose([mark["size"] for mark in mine], native["size"], atol=1e-6)
    turns = normalized(native["orientation"].astype(np.float64))
    np.testing.assert_allclose(np.abs((np.array([mark["turn"] for mark in mine]) * turns).sum(axis=1)), 1, atol=1e-6)
    assert np.abs(np.array([mark["color"] for mark in mine]) - native["color"].astype(int)).max() <= 1


def test_marks_are_matched_by_key_and_blended_as_natively():
    older, newer = some_marks(60, 1), some_marks(50, 2)
    older["key"][:3] = 7
    newer["kind"] = older["kind"][:50]
    native = [drawable(marks) for marks in (older, newer)]
    expected = blended(*native, matched(*(marks["key"] for marks in native)), 0.3)
    assert_alike(page_marks(older, newer, 0.3, new_bodies(0)), expected)


def test_a_mark_follows_its_body_and_is_left_out_with_it():
    marks, bodies = some_marks(4, 3), new_bodies(2)
    marks["body"] = (0, 1, 2, 9)
    bodies["position"], bodies["orientation"] = (1, 2, 3), normalized(np.array([[0.1, 0.2, 0.3, 0.9]] * 2))
    bodies["flags"][1] = 0
    expected = marks[:2].copy()
    turn = bodies["orientation"][:1].astype(np.float64)
    expected["position"][1] = bodies["position"][0] + rotate(turn, marks["position"][1:2].astype(np.float64))[0]
    expected["orientation"][1] = multiply(turn, normalized(marks["orientation"][1:2].astype(np.float64)))[0]
    mine = page_marks(marks, marks, 0.5, bodies)
    assert_alike(mine, expected[np.argsort(expected["key"])])


def test_texts_vertices_and_damaged_marks_are_no_marks():
    marks, texts = some_marks(5, 4), np.zeros(text_records(100), MARK)
    write_texts(texts, b"x" * 100)
    marks["position"][1] = np.nan
    marks["kind"][2] = 99
    records = np.concatenate([marks, texts, np.zeros(2, MARK)])
    expected = drawable(marks)
    assert len(expected) == 3
    assert_alike(page_marks(records, records, 0.5, new_bodies(0), vertices=10), expected)

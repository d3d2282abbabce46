"""The page's store of snapshots, held to the rules of the native viewer's history."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.web.in_node import run_in_node
from twixt.ipc.snapshot import Head
from twixt.render.snapshots.history import History

SCRIPT = """
const {SnapshotStore} = await import(WEB + "snapshots.js");
answer(given.map((steps) => {
  const store = new SnapshotStore();
  const said = [];
  for (const [verb, ...given] of steps) {
    if (verb === "add") {
      const [simNs, tick, worldEpoch, bytes] = given;
      const words = new Uint32Array(Math.min(4, bytes ?? 4));
      Object.defineProperty(words, "buffer", {value: {byteLength: bytes ?? 64}});
      said.push(store.add({simNs, tick, worldEpoch: worldEpoch ?? 0, words, markWords: words}));
    } else if (verb === "at") {
      const pair = store.at(...given);
      said.push(pair && [pair.before?.tick ?? null, pair.older.tick, pair.newer.tick, pair.share, pair.drawNs]);
    } else if (verb === "drop") {
      said.push(store.dropBefore(given[0]).map((snapshot) => snapshot.tick).sort((a, b) => a - b));
    } else if (verb === "held") {
      said.push([store.count, store.bytes, store.newest?.tick ?? null, store.thinned]);
    }
  }
  return said;
}));
"""


def told(*cases: list[list[Any]]) -> list[list[Any]]:
    return run_in_node(SCRIPT, cases)


def test_the_pair_around_a_draw_time_is_found_at_and_outside_both_ends() -> None:
    adds = [["add", 100 * n, n] for n in (1, 3, 2, 4)]
    (said,) = told([["at", 0], *adds, ["at", 50], ["at", 100], ["at", 150], ["at", 399], ["at", 400], ["at", 900]])
    assert said == [
        None, True, True, True, True,
        [None, 1, 1, 0, 100],
        [None, 1, 2, 0, 100],
        [None, 1, 2, 0.5, 150],
        [2, 3, 4, 0.99, 399],
        [3, 4, 4, 0, 400],
        [3, 4, 4, 0, 400],
    ]  # fmt: skip


def test_a_newer_state_of_the_same_simulated_time_replaces_it_and_duplicates_are_refused() -> None:
    (said,) = told([["add", 5, 1], ["add", 9, 2], ["at", 6], ["add", 5, 1], ["add", 5, 3], ["at", 6], ["drop", 6]])
    assert said == [True, True, [None, 1, 2, 0.25, 6], False, True, [None, 3, 2, 0.25, 6], [1]]


def test_a_newer_world_clears_the_store_and_an_older_one_is_refused() -> None:
    (said,) = told([["add", 500, 1, 3], ["add", 0, 1, 4], ["at", 500], ["add", 900, 9, 3], ["drop", 0], ["held"]])
    assert said == [True, True, [None, 1, 1, 0, 0], False, [1], [1, 64, 1, 0]]


def test_snapshots_older_than_the_pair_in_use_are_refused_and_those_before_it_are_released() -> None:
    adds = [["add", n, n] for n in range(1, 7)]
    (said,) = told([*adds, ["at", 4.5], ["add", 3.5, 9], ["drop", 4.5], ["held"], ["drop", 4.5]])
    assert said[6:] == [[3, 4, 5, 0.5, 4.5], False, [1, 2], [4, 256, 6, 0], []]


def test_a_full_store_drops_what_is_older_than_the_pair_and_then_thins_what_is_not_drawn_yet() -> None:
    adds = [["add", n, n] for n in range(100)]
    few = [["add", n, n, 0, 60 << 20] for n in (1, 2, 3)]
    no_pair, paired, large = told(
        [*adds, ["held"], ["at", 0]],
        [["add", 0, 0], ["add", 1, 1], ["at", 0.5], *adds[2:], ["held"], ["at", 0.5], ["at", 97.5]],
        [*few, ["held"], ["at", 1.5], ["add", 4, 4, 0, 60 << 20], ["held"], ["at", 1.5]],
    )
    assert no_pair[-2:] == [[64, 64 * 64, 99, 0], [None, 36, 36, 0, 36]]
    held, in_use, late = paired[-3:]
    assert held == [64, 64 * 64, 99, 36]
    assert in_use[1:3] == [0, 1]
    assert late[2] - late[1] <= 2
    assert large[3:] == [
        [3, 180 << 20, 3, 0],
        [None, 1, 2, 0.5, 1.5],
        True,
        [3, 180 << 20, 4, 1],
        [None, 1, 2, 0.5, 1.5],
    ]


def test_pairs_are_those_of_the_native_history() -> None:
    rng = np.random.default_rng(4)
    steps: list[list[Any]] = []
    history, expected = History(64), []
    for step in range(2000):
        if rng.random() < 0.6:
            sim_ns, epoch = step // 2 + int(rng.integers(-6, 7)), step // 700
            steps.append(["add", sim_ns, step, epoch])
            head = Head(tick=step, sim_time_ns=sim_ns, world_epoch=epoch)
            slot = history.slot_for(head)
            if slot is not None:
                history.commit(slot, head)
            expected.append(slot is not None)
        else:
            draw_ns = step // 2 - 3
            steps.append(["at", draw_ns])
            pair = history.pair(draw_ns)
            newer = None if pair is None else pair.next or pair.previous
            expected.append(
                None
                if pair is None or newer is None
                else [
                    None if pair.before is None else pair.before.head.tick,
                    pair.previous.head.tick, newer.head.tick, pair.alpha, pair.draw_time_ns,
                ]
            )  # fmt: skip
    (said,) = told(steps)
    assert said == expected


def test_the_pairs_of_all_layers_of_a_frame_are_kept() -> None:
    adds, more = ([["add", n, n] for n in range(*ends)] for ends in ((0, 64), (64, 200)))
    frames = [["at", 62.5]], [["at", 62.5], ["at", 0.5, False]]
    forgotten, kept = told(*([*adds, *frame, *more, ["at", 0.5]] for frame in frames))
    assert forgotten[-1][1] > 1
    assert kept[-1] == [None, 0, 1, 0.5, 0.5]


STANDSTILL = """
const {Standstill} = await import(WEB + "snapshots.js");
answer(given.map((snapshots) => {
  const standstill = new Standstill();
  return snapshots.map(([tick, seconds]) => standstill.endsWith({tick, publishedNs: seconds * 1e9}));
}));
"""


def test_a_standstill_ends_with_the_first_snapshot_after_many_that_were_left_out() -> None:
    stopped = [(1, 0.0), (2, 0.02), (252, 5.02), (253, 5.04)]
    seldom = [(100 * n, 5.0 * n) for n in range(5)]
    paused_then_stepped = [(1, 0.0), (2, 0.02), (3, 60.0), (4, 60.02)]
    hiccup = [(1, 0.0), (2, 0.02), (42, 0.82)]
    reset = [(500, 0.0), (501, 0.02), (0, 3.0), (1, 3.02)]
    cases = [stopped, seldom, paused_then_stepped, hiccup, reset]
    assert run_in_node(STANDSTILL, cases) == [[False, False, True, False], *([False] * len(case) for case in cases[1:])]

"""The page's connection in virtual time: sockets and timers are the test's own."""

from __future__ import annotations

from typing import Any

import pytest

from tests.web.in_node import run_in_node

SCRIPT = """
const {Connection} = await import(WEB + "connection.js");

class Rig {
  constructor({token = "secret", isServed = false, early = null} = {}) {
    this.nowMs = 1000;
    this.timers = new Map();
    this.sockets = [];
    this.states = [];
    this.trips = [];
    this.controls = [];
    const rig = this;
    class WebSocket {
      static OPEN = 1;
      constructor(address) {
        Object.assign(this, {address, readyState: 0, sent: [], isClosed: false, madeMs: rig.nowMs});
        rig.sockets.push(this);
      }
      send(text) { this.sent.push(JSON.parse(text)); }
      close() { this.isClosed = true; this.readyState = 3; }
    }
    let timer = 0;
    this.connection = new Connection({
      address: "ws://here/ws", early, token: () => token, digests: () => ["d1"], isServed: async () => isServed,
      decode: ({byteLength, message}, after) => {
        if (byteLength === 1) throw new Error("damaged");
        return message.number > after ? message : null;
      },
      onWelcome: (welcome) => this.controls.push(welcome), onStream: (message) => this.connection.applied(message),
      onControl: (message) => this.controls.push(message), onTrip: (...trip) => this.trips.push(trip),
      onState: ({phase, reason, text}) => this.states.push([phase, reason, text].filter(Boolean).join(" ")),
    }, {
      WebSocket, nowMs: () => this.nowMs, random: () => 0.5, randomBytes: (count) => new Uint8Array(count).fill(10),
      setTimeout: (call, waitMs) => { this.timers.set(++timer, {call, atMs: this.nowMs + waitMs}); return timer; },
      clearTimeout: (id) => { this.timers.delete(id); },
    });
  }
  get pair() { return this.sockets.slice(-2); }
  async pass(ms) {
    const endMs = this.nowMs + ms;
    for (;;) {
      const [next] = [...this.timers].filter(([, {atMs}]) => atMs <= endMs).sort((a, b) => a[1].atMs - b[1].atMs);
      if (next === undefined) break;
      this.timers.delete(next[0]);
      this.nowMs = Math.max(this.nowMs, next[1].atMs);
      next[1].call();
      await null;
    }
    this.nowMs = endMs;
    for (let i = 0; i < 5; i++) await null;
  }
  open() {
    for (const socket of this.pair) {
      socket.readyState = 1;
      socket.onopen?.();
    }
  }
  welcome(more = {}) {
    for (const socket of this.pair) socket.onmessage({data: JSON.stringify({kind: "welcome", may_control: true, ...more})});
  }
  text(message) { this.pair[1].onmessage({data: JSON.stringify(message)}); }
  stream(number, kind = "snapshot", worldEpoch = 0, role = 0) {
    this.pair[role].onmessage({data: {byteLength: 100, message: {kind, number, snapshot: {worldEpoch}}}});
  }
  start() { this.connection.connect(); this.open(); this.welcome(); return this; }
  closed(code, reason = "", which = [0, 1]) {
    const pair = this.pair;
    for (const index of which) {
      pair[index].isClosed = true;
      pair[index].onclose?.({code, reason});
    }
  }
  get acks() { return this.pair[1].sent.filter(({kind}) => kind === "ack").map(({number}) => number); }
  get pings() { return this.pair[1].sent.filter(({kind}) => kind === "ping").length; }
}

const cases = {
  hello() {
    const rig = new Rig().start();
    return [rig.pair.map(({sent}) => sent[0]), rig.pair.map(({address, binaryType}) => [address, binaryType]), rig.states];
  },
  early() {
    const opened = [0, 1, 3].map((readyState) => ({readyState, sent: [], send(text) { this.sent.push(JSON.parse(text).role); }}));
    const [opening, open, closed] = opened;
    const one = new Rig({early: new Map([["stream", opening], ["control", open]])});
    one.connection.connect();
    opening.onopen();
    const other = new Rig({early: new Map([["stream", closed]])});
    other.connection.connect();
    return [opened.map(({sent}) => sent), one.sockets.length, other.sockets.length];
  },
  async acknowledgements() {
    const rig = new Rig().start(), said = [];
    const note = () => said.push([...rig.acks]);
    rig.stream(1, "scene"); note();
    rig.stream(2); rig.stream(3, "content"); note();
    rig.connection.frameDrawn(); note();
    rig.connection.frameDrawn(); note();
    rig.stream(4); rig.connection.setVisible(false); await rig.pass(60000); note();
    rig.connection.setVisible(true); note();
    return said;
  },
  async pieces() {
    const rig = new Rig().start(), said = [];
    const note = () => said.push(rig.pair[1].sent.filter(({kind}) => kind === "took").map(({number}) => number));
    rig.stream(1, "overlay"); note();
    rig.connection.frameDrawn(); note();
    rig.stream(2); rig.stream(3, "overlay"); note();
    said.push(rig.acks);
    await rig.pass(600); rig.stream(4, "overlay"); rig.stream(5, "overlay"); note();
    rig.connection.frameDrawn(); note();
    return said;
  },
  async pings() {
    const rig = new Rig().start(), said = [];
    await rig.pass(0); said.push(rig.pings);
    await rig.pass(200); said.push(rig.pings);
    await rig.pass(1000); said.push(rig.pings);
    rig.text({kind: "pong", id: 1, at_ns: 77}); rig.text({kind: "pong", id: 1, at_ns: 78}); rig.text({kind: "pong", id: 999, at_ns: 79});
    said.push(rig.trips);
    rig.connection.setVisible(false); await rig.pass(60000); said.push(rig.pings);
    rig.connection.setVisible(true); said.push(rig.pings, rig.states.at(-1));
    return said;
  },
  async silence() {
    const rig = new Rig().start();
    await rig.pass(10500);
    return [rig.states, rig.sockets.length, rig.sockets.slice(0, 2).every(({isClosed}) => isClosed)];
  },
  async waits() {
    const rig = new Rig();
    rig.connection.connect();
    for (let i = 0; i < 12; i++) { rig.closed(1006); await rig.pass(6000); }
    const beganMs = rig.sockets.filter((_, i) => i % 2 === 0).map(({madeMs}) => madeMs);
    const endedMs = beganMs.map((_, i) => 1000 + 6000 * i);
    return [beganMs.slice(1).map((ms, i) => ms - endedMs[i]), rig.states, rig.sockets.filter((s) => !s.isClosed).length];
  },
  async refusedAtOnceAfterWelcome() {
    const rig = new Rig(), waits = [];
    rig.connection.connect();
    for (let i = 0; i < 6; i++) {
      rig.open(); rig.welcome();
      const endedMs = rig.nowMs;
      rig.closed(4400, "no");
      await rig.pass(5001);
      waits.push(rig.pair[0].madeMs - endedMs);
    }
    return waits;
  },
  async reasons() {
    const said = {};
    for (const code of [4400, 4401, 4408, 4409, 4410, 4411, 4413, 4429, 1006, 1011]) {
      const rig = new Rig().start();
      rig.closed(4411, "", [1]);
      if (code !== 4411) rig.closed(code, "why", [0]);
      await rig.pass(550);
      const state = rig.states.at(-1);
      await rig.pass(60000);
      said[code] = [state, rig.sockets.length > 2];
    }
    return said;
  },
  async forbidden() {
    const rig = new Rig({isServed: true});
    rig.connection.connect();
    rig.closed(1006);
    await rig.pass(1);
    return rig.states;
  },
  async noToken() {
    const rig = new Rig({token: ""});
    rig.connection.connect();
    await rig.pass(60000);
    return [rig.states, rig.sockets.length];
  },
  async hiddenWhileLost() {
    const rig = new Rig().start();
    rig.connection.setVisible(false);
    rig.closed(1006);
    await rig.pass(600000);
    const hidden = rig.sockets.length;
    rig.connection.setVisible(true);
    await rig.pass(0);
    return [hidden, rig.sockets.length];
  },
  async ended() {
    const rig = new Rig().start();
    rig.stream(1, "snapshot", 4);
    rig.text({kind: "end", end: "crashed", message: "ZeroDivisionError"});
    rig.stream(2, "snapshot", 4);
    rig.stream(3, "snapshot", 5);
    return rig.states;
  },
  async commands() {
    const rig = new Rig(), said = [rig.connection.command("pause")];
    rig.start();
    said.push(rig.connection.command("time_scale", 2), rig.pair[1].sent.at(-1));
    const other = new Rig();
    other.connection.connect(); other.open(); other.welcome({may_control: false});
    return [...said, other.connection.command("pause")];
  },
  async repeated() {
    const rig = new Rig().start(), acks = [];
    for (const [number, role] of [[1, 0], [2, 1], [3, 1], [2, 0], [3, 0], [4, 0], [4, 1]]) {
      rig.stream(number, "snapshot", 0, role);
      rig.connection.frameDrawn();
      acks.push(rig.acks.at(-1));
    }
    rig.closed(1006); await rig.pass(300); rig.open(); rig.welcome();
    rig.stream(1);
    rig.connection.frameDrawn();
    return [acks, rig.acks];
  },
  async damaged() {
    const rig = new Rig().start();
    rig.pair[0].onmessage({data: {byteLength: 1}});
    await rig.pass(300);
    return [rig.states, rig.sockets.length];
  },
  async renewed() {
    const rig = new Rig().start();
    rig.connection.renew(); rig.connection.renew();
    const soon = rig.sockets.length;
    await rig.pass(600);
    return [rig.states, soon, rig.sockets.length];
  },
  async planBeforeTheStreamsWelcome() {
    const rig = new Rig();
    rig.connection.connect(); rig.open();
    rig.pair[1].onmessage({data: JSON.stringify({kind: "welcome", name: "a"})});
    rig.text({kind: "plan", number: 1});
    rig.pair[0].onmessage({data: JSON.stringify({kind: "welcome", name: "a"})});
    return rig.controls.map(({kind}) => kind);
  },
};
const said = {};
for (const [name, run] of Object.entries(cases)) said[name] = await run();
answer(said);
"""


@pytest.fixture(scope="module")
def said() -> dict[str, Any]:
    return run_in_node(SCRIPT)


def test_websockets_that_were_opened_before_say_hello_as_soon_as_they_can(said: dict[str, Any]) -> None:
    assert said["early"] == [[["stream"], ["control"], []], 0, 2]


def test_both_connections_say_hello_with_one_nonce_and_a_role_each(said: dict[str, Any]) -> None:
    hellos, sockets, states = said["hello"]
    common = {"kind": "hello", "protocol": 1, "token": "secret", "nonce": "0a" * 16}
    assert hellos == [common | {"role": "stream", "have": ["d1"], "lean": True}, common | {"role": "control"}]
    assert sockets == [["ws://here/ws", "arraybuffer"]] * 2
    assert states == ["waiting"]


def test_snapshots_are_acknowledged_after_a_frame_other_messages_at_once_and_all_on_becoming_visible(
    said: dict[str, Any],
) -> None:
    assert said["acknowledgements"] == [[1], [1], [1, 3], [1, 3], [1, 3], [1, 3, 4]]


def test_pieces_of_overlays_are_confirmed_at_once_by_a_page_that_draws(said: dict[str, Any]) -> None:
    assert said["pieces"] == [[], [1], [1, 3], [], [1, 3], [1, 3, 5]]


def test_pings_are_close_together_first_then_four_a_second_and_none_while_hidden(said: dict[str, Any]) -> None:
    first, after_200_ms, after_1200_ms, trips, hidden, shown, state = said["pings"]
    assert (first, after_200_ms) == (2, 9)
    assert after_1200_ms - after_200_ms == 4
    assert trips == [[1000, 77, 2200]]
    assert hidden == after_1200_ms
    assert shown == hidden + 1
    assert state == "waiting"


def test_a_link_without_answers_is_given_up_and_tried_again(said: dict[str, Any]) -> None:
    states, sockets, are_closed = said["silence"]
    assert states == ["waiting", "lost silence"]
    assert (sockets, are_closed) == (4, True)


def test_waits_between_attempts_grow_from_a_quarter_second_to_five_seconds(said: dict[str, Any]) -> None:
    waits, states, still_open = said["waits"]
    assert waits == [250, 500, 1000, 2000, 4000, *[5000] * 7]
    assert states == ["lost closed"]
    assert still_open == 2
    assert said["refusedAtOnceAfterWelcome"] == [250, 500, 1000, 2000, 4000, 5000]


def test_each_close_code_has_its_state_whichever_connection_says_it(said: dict[str, Any]) -> None:
    assert said["reasons"] == {
        "4400": ["refused invalid why", True],
        "4401": ["refused wrong-token why", False],
        "4408": ["lost timeout why", True],
        "4409": ["refused version why", False],
        "4410": ["ended ended why", True],
        "4411": ["lost closed", True],
        "4413": ["lost nonce why", True],
        "4429": ["refused too-many why", True],
        "1006": ["lost closed why", True],
        "1011": ["lost closed why", True],
    }
    assert said["forbidden"] == ["lost closed", "refused forbidden"]
    assert said["noToken"] == [["refused no-token"], 0]


def test_a_hidden_page_makes_no_attempts_and_a_visible_one_makes_one_at_once(said: dict[str, Any]) -> None:
    assert said["hiddenWhileLost"] == [2, 4]


def test_after_the_simulation_has_ended_only_a_newer_world_is_live(said: dict[str, Any]) -> None:
    assert said["ended"] == ["waiting", "live", "waiting ended ZeroDivisionError", "live"]


def test_commands_are_sent_only_with_a_link_and_the_right_to_control(said: dict[str, Any]) -> None:
    message = {"kind": "command", "name": "time_scale", "value": 2}
    assert said["commands"] == [False, True, message, False]


def test_a_message_that_comes_on_both_connections_counts_once_and_when_it_comes_first(said: dict[str, Any]) -> None:
    assert said["repeated"] == [[1, 2, 3, 3, 3, 4, 4], [1]]


def test_a_damaged_message_ends_the_connection_with_its_reason(said: dict[str, Any]) -> None:
    assert said["damaged"] == [["waiting", "lost damaged damaged"], 4]


def test_the_first_welcome_comes_before_the_plan(said: dict[str, Any]) -> None:
    assert said["planBeforeTheStreamsWelcome"] == ["welcome", "plan"]


def test_a_page_that_needs_dropped_contents_connects_again_once_and_not_at_once(said: dict[str, Any]) -> None:
    states, soon, later = said["renewed"]
    assert states == ["waiting", "lost renewed"]
    assert (soon, later) == (2, 4)

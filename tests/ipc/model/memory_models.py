"""Every run that a memory model allows, of a few threads over shared words.

The one idea: a thread is asked what it does next, given the values that its loads have returned so far; which
value a load returns, and when a store reaches memory, is for the model to branch on.

    SC    loads and stores take effect at once, one after another
    TSO   stores go through a queue, in order; the thread itself sees them at once (x86)
    ARM   stores between two fences reach memory in any order, those of one word in theirs; a load takes any value
          that its word had since the thread's last fence, so loads pass each other and stores pass loads; a store
          overtakes loads before it, which then take a later value. Memory is one for all (ARMv8: multi-copy atomic)

Always: a fence waits until all before it is done; loads of one word by one thread never go back.
What the ARM model leaves out: dependencies (an address or a branch made of a loaded value orders nothing here, so
it allows more than a processor does), half barriers, words seen in parts. `test_litmus` holds it to the known answers.

A thread is a chain of nodes. `action` is (kind, ...), `then(answer)` the node after it:
    (LOAD, word)           answer: the value          (BLOCK, words)   answer: the one value all of them had while
    (STORE, word, value)   answer: None                                they were read in any order, or MIXED
    (FENCE,)               answer: None               (AWAIT, word, value)  a message: waits for the value; a fence
    (DONE, outcome)
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

LOAD, STORE, FENCE, BLOCK, AWAIT, DONE = "load", "store", "fence", "block", "await", "done"
MIXED = "mixed"
SC, TSO, ARM = "SC", "TSO", "ARM"
MODELS = (SC, TSO, ARM)

Word = Hashable
Memory = dict[Word, Any]


class Node(Protocol):
    """Where a thread stands. Equal places are one object."""

    action: tuple[Any, ...]

    def then(self, answer: Any) -> Node: ...

    def ahead(self) -> frozenset[Word] | None:
        """Words it may load before its next fence; None: any. Of others no history is kept."""


class Thread(NamedTuple):
    """queue: stores not in memory yet. seen: (word, the values it may still be found to have), by word.
    owed: loads that went on with a value they have yet to find."""

    node: Node
    queue: tuple[tuple[Word, Any], ...] = ()
    seen: tuple[tuple[Word, tuple[Any, ...]], ...] = ()
    owed: frozenset[tuple[Word, Any]] = frozenset()


class State(NamedTuple):
    """memory: values in the order of the explorer's `words`."""

    threads: tuple[Thread, ...]
    memory: tuple[Any, ...]


class Violation(Exception):
    """What the checks found, and the steps that led there."""

    def __init__(self, what: str, steps: Sequence[str]) -> None:
        super().__init__("\n  ".join([what, *steps]))
        self.what, self.steps = what, steps


class Explorer:
    """All states that `threads` reach from `memory` under `model`.

    check_memory(memory) and check_outcome(node, outcome) return what is wrong, or None. readers: indices of threads
    that store nothing, whose loads between two fences may be taken together just before the later one: whatever they
    could have returned before, they can still. late: values a load may return that its word does not have yet.
    """

    def __init__(
        self,
        model: str,
        threads: Iterable[Node],
        memory: Memory,
        *,
        readers: Iterable[int] = (),
        late: Callable[[Word], Iterable[Any]] = lambda word: (),
        check_memory: Callable[[Memory], str | None] = lambda memory: None,
        check_outcome: Callable[[Any], str | None] = lambda outcome: None,
        most: int | None = None,
    ) -> None:
        self.model, self.words = model, tuple(memory)
        self._place = {word: index for index, word in enumerate(self.words)}
        self._readers = frozenset(readers)
        self._late = late
        self._check_memory, self._check_outcome = check_memory, check_outcome
        self._most = most
        self._start = State(tuple(Thread(node) for node in threads), tuple(memory.values()))
        self._came: dict[State, tuple[State | None, str]] = {}
        self.outcomes: set[tuple[Any, ...]] = set()

    @property
    def states(self) -> int:
        return len(self._came)

    def run(self) -> int:
        """The number of states, when nothing was wrong; else raises Violation."""
        memories: set[tuple[Any, ...]] = set()
        start = State(
            tuple(self._opened(thread, self._start.memory) for thread in self._start.threads), self._start.memory
        )
        self._came[start] = (None, "")
        stack = [start]
        while stack:
            state = stack.pop()
            if state.memory not in memories:
                memories.add(state.memory)
                self._require(self._check_memory(dict(zip(self.words, state.memory, strict=True))), state)
            ended = all(thread.node.action[0] == DONE and not thread.queue for thread in state.threads)
            if ended and not any(thread.owed for thread in state.threads):
                self.outcomes.add(tuple(thread.node.action[1] for thread in state.threads))
            for after, step in self._steps(state):
                if after in self._came:
                    continue
                self._came[after] = (state, step)
                if self._most is not None and len(self._came) > self._most:
                    raise RuntimeError(f"more than {self._most} states")
                for thread in after.threads:
                    if thread.node.action[0] == DONE:
                        self._require(self._check_outcome(thread.node.action[1]), after)
                stack.append(after)
        return self.states

    def _require(self, wrong: str | None, state: State) -> None:
        if wrong is None:
            return
        steps: list[str] = []
        at: State | None = state
        while at is not None:
            at, step = self._came[at]
            steps.append(step)
        raise Violation(wrong, steps[-2::-1])

    def _steps(self, state: State) -> Iterator[tuple[State, str]]:
        for index, thread in enumerate(state.threads):
            for store in self._performable(thread):
                yield from self._performed(state, index, store)
            kind = thread.node.action[0]
            if kind == DONE:
                continue
            if self.model == ARM and index in self._readers:
                afters: Iterable[tuple[Thread, str]] = self._window(state, thread)
            else:
                afters = self._own_step(state, index, thread)
            for after, step in afters:
                yield self._with(state, index, after), f"{index}: {step}"

    def _with(self, state: State, index: int, thread: Thread, memory: tuple[Any, ...] | None = None) -> State:
        threads = (*state.threads[:index], thread, *state.threads[index + 1 :])
        return State(threads, state.memory if memory is None else memory)

    # Stores.

    def _performable(self, thread: Thread) -> list[int]:
        if self.model != ARM:
            return [0] if thread.queue else []
        words = [word for word, _ in thread.queue]
        owed = {word for word, _ in thread.owed}
        return [place for place, word in enumerate(words) if word not in words[:place] and word not in owed]

    def _performed(self, state: State, index: int, place: int) -> Iterator[tuple[State, str]]:
        queue = state.threads[index].queue
        word, value = queue[place]
        at = self._place[word]
        memory = (*state.memory[:at], value, *state.memory[at + 1 :])
        threads = []
        for other, thread in enumerate(state.threads):
            node, stores, seen, owed = thread
            if other == index:
                stores = queue[:place] + queue[place + 1 :]
                seen = tuple([(w, (value,) if w == word else values) for w, values in seen])
            else:
                seen = tuple([
                    (w, (*values, value) if w == word and values[-1] != value else values) for w, values in seen
                ])  # fmt: skip
                if owed and (word, value) in owed:
                    owed -= {(word, value)}
                    seen = tuple([(w, (value,) if w == word else values) for w, values in seen])
            thread = Thread(node, stores, seen, owed)
            threads.append(self._issued(thread) if other == index else thread)
        yield State(tuple(threads), memory), f"   memory: {word} = {value}"

    # What a thread does next.

    def _own_step(self, state: State, index: int, thread: Thread) -> Iterator[tuple[Thread, str]]:
        node = thread.node
        kind, *of = node.action
        if self.model == SC and thread.queue:
            return
        if kind == FENCE or (kind == AWAIT and state.memory[self._place[of[0]]] == of[1]):
            if not thread.queue and not thread.owed:
                yield self._opened(Thread(node.then(None)), state.memory), kind
        elif kind == LOAD:
            if all(word != of[0] for word, _ in thread.owed):
                yield from self._loaded(state, index, thread, of[0])
        elif kind == BLOCK:
            value = _one_value(thread.seen, of[0])
            yield self._moved(thread, value, state.memory), f"read {_names(of[0])}: {value}"

    def _loaded(self, state: State, index: int, thread: Thread, word: Word) -> Iterator[tuple[Thread, str]]:
        own = [value for stored, value in thread.queue if stored == word]
        if own:
            values: tuple[Any, ...] = (own[-1],)
        elif self.model == ARM:
            values = dict(thread.seen)[word]
        else:
            values = (state.memory[self._place[word]],)
        for first, value in enumerate(values):
            seen = thread.seen
            if self.model == ARM and not own:  # what it was found to have, it never had before
                seen = tuple([(w, values[first:] if w == word else had) for w, had in seen])
            yield (
                self._moved(Thread(thread.node, thread.queue, seen, thread.owed), value, state.memory),
                f"load {word}: {value}",
            )
        if self.model == ARM and not own:
            for value in self._late(word):
                after = thread._replace(owed=thread.owed | {(word, value)})
                yield self._moved(after, value, state.memory), f"load {word}, later: {value}"

    def _window(self, state: State, thread: Thread) -> Iterator[tuple[Thread, str]]:
        """All ways through the loads up to a reader's next fence, taken now."""
        stack: list[tuple[Thread, str]] = [(thread, "")]
        while stack:
            at, done = stack.pop()
            kind = at.node.action[0]
            if kind == STORE:
                raise AssertionError("a thread that stores was said to be a reader")
            if kind == DONE:
                yield at._replace(seen=()), done
            elif kind in (FENCE, AWAIT):
                yield from ((after, f"{done}; {step}") for after, step in self._own_step(state, -1, at))
            else:
                stack += [(after, f"{done}; {step}") for after, step in self._own_step(state, -1, at)]

    def _moved(self, thread: Thread, answer: Any, memory: tuple[Any, ...]) -> Thread:
        """After an action that is no fence: in ARM the window stays open, elsewhere each action has its own."""
        node, seen = thread.node.then(answer), thread.seen
        if self.model != ARM:
            return self._opened(Thread(node, thread.queue, seen, thread.owed), memory)
        ahead = node.ahead()
        if ahead is not None:
            seen = tuple([pair for pair in seen if pair[0] in ahead])
        return self._issued(Thread(node, thread.queue, seen, thread.owed))

    def _opened(self, thread: Thread, memory: tuple[Any, ...]) -> Thread:
        """From now on histories are kept: in ARM of all that is loaded before the next fence, else of a block."""
        node = thread.node
        if self.model == ARM:
            ahead: Iterable[Word] | None = node.ahead()
        else:
            ahead = node.action[1] if node.action[0] == BLOCK else ()
        words = self.words if ahead is None else sorted(ahead, key=self._place.__getitem__)
        seen = tuple([(word, (memory[self._place[word]],)) for word in words])
        return self._issued(Thread(node, thread.queue, seen, thread.owed))

    def _issued(self, thread: Thread) -> Thread:
        """Stores enter the queue at once: that is seen by nobody. In SC it has room for the one that comes next."""
        while thread.node.action[0] == STORE and not (self.model == SC and thread.queue):
            _, word, value = thread.node.action
            thread = Thread(thread.node.then(None), (*thread.queue, (word, value)), thread.seen, thread.owed)
        return thread


def _one_value(seen: tuple[tuple[Word, tuple[Any, ...]], ...], words: Iterable[Word]) -> Any:
    histories = dict(seen)
    values = {value for word in words for value in histories[word]}
    return values.pop() if len(values) == 1 else MIXED


def _names(words: Iterable[Word]) -> str:
    return ", ".join(map(str, words))

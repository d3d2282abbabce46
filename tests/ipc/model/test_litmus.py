"""The memory models themselves, held to the answers that everybody knows: which outcome of which small program is
possible on which machine. What the channel's proof is worth is what these models are worth."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from tests.ipc.model.memory_models import ARM, DONE, FENCE, LOAD, MODELS, SC, STORE, TSO, Explorer

Step = tuple[Any, ...]
F = (FENCE,)


def st(word: str, value: int = 1) -> Step:
    return (STORE, word, value)


def ld(word: str) -> Step:
    return (LOAD, word)


class Straight(NamedTuple):
    """A thread that does these steps; its outcome: what its loads returned."""

    steps: tuple[Step, ...]
    loaded: tuple[int, ...] = ()

    @property
    def action(self) -> Step:
        return self.steps[0] if self.steps else (DONE, self.loaded)

    def then(self, answer: Any) -> Straight:
        return Straight(self.steps[1:], self.loaded if answer is None else (*self.loaded, answer))

    def ahead(self) -> None:
        return None


class Litmus(NamedTuple):
    """outcome: what each thread loads. allowed: the models on which that can be."""

    name: str
    threads: tuple[tuple[Step, ...], ...]
    outcome: tuple[tuple[int, ...], ...]
    allowed: tuple[str, ...]


LITMUS = [
    Litmus("SB", ((st("x"), ld("y")), (st("y"), ld("x"))), ((0,), (0,)), (TSO, ARM)),
    Litmus("SB, one fence", ((st("x"), F, ld("y")), (st("y"), ld("x"))), ((0,), (0,)), (TSO, ARM)),
    Litmus("SB, fences", ((st("x"), F, ld("y")), (st("y"), F, ld("x"))), ((0,), (0,)), ()),
    Litmus("MP", ((st("x"), st("y")), (ld("y"), ld("x"))), ((), (1, 0)), (ARM,)),
    Litmus("MP, writer's fence", ((st("x"), F, st("y")), (ld("y"), ld("x"))), ((), (1, 0)), (ARM,)),
    Litmus("MP, reader's fence", ((st("x"), st("y")), (ld("y"), F, ld("x"))), ((), (1, 0)), (ARM,)),
    Litmus("MP, fences", ((st("x"), F, st("y")), (ld("y"), F, ld("x"))), ((), (1, 0)), ()),
    Litmus("LB", ((ld("x"), st("y")), (ld("y"), st("x"))), ((1,), (1,)), (ARM,)),
    Litmus("LB, one fence", ((ld("x"), F, st("y")), (ld("y"), st("x"))), ((1,), (1,)), (ARM,)),
    Litmus("LB, fences", ((ld("x"), F, st("y")), (ld("y"), F, st("x"))), ((1,), (1,)), ()),
    Litmus(
        "IRIW", ((st("x"),), (st("y"),), (ld("x"), ld("y")), (ld("y"), ld("x"))), ((), (), (1, 0), (1, 0)), (ARM,)
    ),
    Litmus(
        "IRIW, fences",
        ((st("x"),), (st("y"),), (ld("x"), F, ld("y")), (ld("y"), F, ld("x"))),
        ((), (), (1, 0), (1, 0)),
        (),
    ),
    Litmus("WRC", ((st("x"),), (ld("x"), st("y")), (ld("y"), ld("x"))), ((), (1,), (1, 0)), (ARM,)),
    Litmus("WRC, fences", ((st("x"),), (ld("x"), F, st("y")), (ld("y"), F, ld("x"))), ((), (1,), (1, 0)), ()),
    Litmus("CoRR", ((st("x", 1), st("x", 2)), (ld("x"), ld("x"))), ((), (2, 1)), ()),
    Litmus("CoRR, two readers", ((st("x", 1),), (st("x", 2),), (ld("x"), ld("x")), (ld("x"), ld("x"))),
           ((), (), (1, 2), (2, 1)), ()),
    Litmus("CoWR", ((st("x", 1), ld("x")), (st("x", 2),)), ((0,), ()), ()),
    Litmus("2+2W, seen", ((st("x", 1), st("y", 2)), (st("y", 1), st("x", 2)), (ld("x"), F, ld("x"), F, ld("y"), F, ld("y"))),
           ((), (), (2, 1, 2, 1)), (ARM,)),
    Litmus("own store first", ((st("x"), ld("x"), ld("y")), (st("y"), ld("y"), ld("x"))), ((1, 0), (1, 0)), (TSO, ARM)),
]  # fmt: skip


def outcomes(litmus: Litmus, model: str) -> set[tuple[Any, ...]]:
    words = {step[1] for thread in litmus.threads for step in thread if step != F}
    stored = {step[1:] for thread in litmus.threads for step in thread if step[0] == STORE}
    explorer = Explorer(
        model,
        [Straight(thread) for thread in litmus.threads],
        dict.fromkeys(sorted(words), 0),
        late=lambda word: [value for where, value in stored if where == word],
    )
    explorer.run()
    return explorer.outcomes


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("litmus", LITMUS, ids=lambda litmus: litmus.name)
def test_a_litmus_test_ends_as_on_that_machine(litmus: Litmus, model: str):
    assert (litmus.outcome in outcomes(litmus, model)) == (model in litmus.allowed)


@pytest.mark.parametrize("litmus", LITMUS, ids=lambda litmus: litmus.name)
def test_each_model_allows_all_that_the_stricter_allows(litmus: Litmus):
    strict, queues, free = (outcomes(litmus, model) for model in (SC, TSO, ARM))
    assert strict <= queues <= free


@pytest.mark.parametrize("litmus", LITMUS, ids=lambda litmus: litmus.name)
def test_taking_a_readers_loads_together_loses_no_outcome(litmus: Litmus):
    readers = [at for at, steps in enumerate(litmus.threads) if all(step[0] != STORE for step in steps)]
    words = dict.fromkeys(("x", "y"), 0)
    together = Explorer(ARM, [Straight(thread) for thread in litmus.threads], words, readers=readers)
    apart = Explorer(ARM, [Straight(thread) for thread in litmus.threads], words)
    together.run()
    apart.run()
    assert together.outcomes == apart.outcomes

from __future__ import annotations

import math

import numpy as np
import pytest

from twixt.sim.reproducible_math import decayed, dot, sin_cos

TURNS = np.linspace(-3.0, 3.0, 6001)


def test_sine_and_cosine_are_those_of_full_turns_to_the_last_places() -> None:
    wave = sin_cos(TURNS)
    assert np.abs(wave.sin - np.sin(2 * np.pi * TURNS)).max() < 4e-15
    assert np.abs(wave.cos - np.cos(2 * np.pi * TURNS)).max() < 4e-15
    for quarters in range(-8, 9):
        wave = sin_cos(quarters / 4)
        assert (wave.sin, wave.cos) == pytest.approx(
            (math.sin(math.pi * quarters / 2), math.cos(math.pi * quarters / 2))
        )


def test_single_precision_stays_single_and_is_as_good() -> None:
    turns = TURNS.astype(np.float32)
    wave = sin_cos(turns)
    assert wave.sin.dtype == wave.cos.dtype == np.float32
    assert np.abs(wave.sin - np.sin(2 * np.pi * turns.astype(np.float64))).max() < 6e-7


def test_an_array_gives_the_bits_of_its_elements() -> None:
    wave = sin_cos(TURNS)
    alone = [sin_cos(float(turns)) for turns in TURNS]
    assert wave.sin.tolist() == [one.sin for one in alone]
    assert wave.cos.tolist() == [one.cos for one in alone]


def test_what_decays_is_halved_in_its_half_life_and_never_negative() -> None:
    assert decayed(math.log(2), 1.0) == pytest.approx(0.5, rel=1e-12)
    assert decayed(1.0, 0.0) == 1.0
    assert 0 < decayed(1.0, 86_400.0) < 1e-6


def test_dot_products_are_those_of_columns() -> None:
    one, other = np.arange(6.0).reshape(3, 2), np.arange(6.0, 12.0).reshape(3, 2)
    assert dot(one, other).tolist() == [0 * 6 + 2 * 8 + 4 * 10, 1 * 7 + 3 * 9 + 5 * 11]

"""Computes sines, cosines, decay, dot products and random numbers with the same bits on every processor.

IEEE 754 fixes the rounding of + - * / and of square roots. So a computation that uses only these operations, in a
fixed order, has the same result everywhere. This is not so for `sin`, `exp` and `power` of numpy and of the C library.
It is also not so for numpy's matrix products and sums of many numbers. Their last bits depend on the instructions of
the processor.

Always: each element of an array gets the same result as if it were the only element, in the array's precision.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]


class Fraction(NamedTuple):
    """Coefficients of the polynomials in tan x = x over(x^2) / under(x^2). The coefficient of the highest power comes
    first."""

    over: tuple[float, ...]
    under: tuple[float, ...]


class Wave(NamedTuple):
    """Sine and cosine of the same angles."""

    sin: Any
    cos: Any


# DOUBLE and SINGLE are the continued fraction of the tangent (Lambert 1761). DOUBLE has eleven levels, and SINGLE has
# seven. Sine and cosine of the double angle follow from the tangent. For x up to a quarter turn, their errors are
# 1e-15 with DOUBLE. With SINGLE the errors are below the rounding of single precision.
DOUBLE = Fraction(
    (-1.0, 2145.0, -675675.0, 64324260.0, -1964187225.0, 13749310575.0),
    (-66.0, 45045.0, -7567560.0, 413513100.0, -6547290750.0, 13749310575.0),
)
SINGLE = Fraction((-1.0, 378.0, -17325.0, 135135.0), (-28.0, 3150.0, -62370.0, 135135.0))
# Number of terms of the series of e^x that are added. With this number the error of the series at x = 1 is 2e-15.
TERMS = 16


def sin_cos(turns: float | Floats) -> Wave:
    """Sine and cosine of each angle. turns: the angles in full turns, as a float or an array of any shape."""
    half: Any
    if isinstance(turns, np.ndarray):
        half = math.pi * (turns - np.rint(turns))
        over, under = SINGLE if turns.dtype == np.float32 else DOUBLE
    else:
        half = math.pi * (turns - round(turns))
        over, under = DOUBLE
    square = half * half
    one, other = half * _polynomial(square, over), _polynomial(square, under)
    double = 2 * one * other
    one *= one
    other *= other
    both = one + other
    return Wave(double / both, (other - one) / both)


def decayed(rate_hz: float, dt: float) -> float:
    """exp(-rate_hz x dt), computed by a series. The result is positive for any dt."""
    total = 1.0
    for term in range(TERMS, 0, -1):
        total = 1 + total * (rate_hz * dt) / term
    return 1 / total


def dot(one: Floats, other: Floats) -> Floats:
    """Dot products of the vectors in `one` and `other`, (3, m) each. The result has shape (m,)."""
    products = one * other
    out: Floats = products[0]
    out += products[1]
    out += products[2]
    return out


def uniform(random: np.random.Generator, low: float, high: float, shape: int | tuple[int, ...]) -> NDArray[np.float64]:
    """Random numbers from `low` to `high`. This function replaces numpy's `uniform`, whose rounding depends on the
    compiler that built numpy."""
    return low + (high - low) * random.random(shape)


def _polynomial(x: Any, coefficients: tuple[float, ...]) -> Any:
    total = coefficients[0] * x
    for coefficient in coefficients[1:-1]:
        total += coefficient
        total *= x
    total += coefficients[-1]
    return total

"""How the text of a flag reads as its value.

Each reader raises ValueError, whose words say how to write it, for a text that has not the form; whether the
figures keep their rules is `Config`'s to say. Standard library only.
"""

from __future__ import annotations

Way = tuple[str, str]  # a method of interpolation and a clock; "" for the run's own


def read_range_ms(text: str) -> tuple[float, float]:
    """`40` or `20-120`: the shortest and the longest time in ms."""
    low_text, dash, high_text = text.partition("-")
    low = float(low_text)
    high = float(high_text) if dash else low
    return low, high


def read_stall(text: str) -> tuple[float, float]:
    """`500@5`: ms of waiting every so many seconds of simulated time; `0` for none."""
    length_text, at, every_text = text.partition("@")
    if not at and text.strip() == "0":
        return 0.0, 1.0
    if not at:
        raise ValueError("write it as MS@SECONDS, such as 500@5")
    return float(length_text), float(every_text)


def read_delay(text: str) -> tuple[float, float]:
    """`80` or `80+-20`: the mean delay in ms, and at most so much off it."""
    mean_text, sign, jitter_text = text.replace("±", "+-").partition("+-")
    return float(mean_text), float(jitter_text) if sign else 0.0


def read_size(text: str) -> tuple[int, int]:
    """`800x600`."""
    width, _, height = text.lower().partition("x")
    return int(width), int(height)


def read_auto_ms(text: str) -> float | None:
    """`auto` (None) or milliseconds."""
    return None if text == "auto" else float(text)


def read_setting(text: str) -> tuple[str, str]:
    """`count=500`."""
    key, equals, value = text.partition("=")
    if not equals or not key.isidentifier():
        raise ValueError("write it as name=value, such as count=500")
    return key, value


def read_split(text: str) -> tuple[Way, Way]:
    """`none,auto`, `auto@newest-two,auto@auto` or `@buffered,@auto`: the left half, then the right."""
    halves = text.split(",")
    if len(halves) != 2:
        raise ValueError("write it as LEFT,RIGHT, such as none,auto or @newest-two,@auto")
    (left, _, left_clock), (right, _, right_clock) = (half.strip().partition("@") for half in halves)
    return (left, left_clock), (right, right_clock)

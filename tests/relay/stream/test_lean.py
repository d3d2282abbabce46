"""Tests of the lean codec against the records that it encodes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.relay.stream.lean_cases import Bodies, cases, edge_bodies, hostile_bodies, random_bodies
from twixt.ipc.snapshot import HAS_ANGULAR_VELOCITY, HAS_VELOCITY, RECORD, new_bodies
from twixt.relay.stream.lean import BOX, CHUNK, HEAD, LeanDecoder, LeanEncoder, error_bound_m

CASES = cases()


def encoded(bodies: Bodies) -> tuple[LeanEncoder, Bodies]:
    encoder = LeanEncoder()
    encoder.encode(bodies)
    return encoder, LeanDecoder().decode(encoder.block())


def exact_rows(block: bytes) -> np.ndarray:
    """Rows that a block has as exact records."""
    count, _, exceptions, _ = np.frombuffer(block, HEAD, 1)[0].tolist()
    return np.frombuffer(block, "<u4", exceptions, HEAD.itemsize + -(-count // CHUNK) * BOX.itemsize + 8 * count)


def angles_deg(bodies: Bodies, others: Bodies) -> np.ndarray:
    """Angles between orientations in degrees."""
    first, second = (each["orientation"].astype(np.float64) for each in (bodies, others))
    first /= np.linalg.norm(first, axis=1)[:, None]
    second *= np.sign(np.einsum("ij,ij->i", first, second))[:, None]
    return np.degrees(4 * np.arcsin(np.linalg.norm(first - second, axis=1) / 2))


@pytest.mark.parametrize("name", CASES)
def test_epochs_colours_scales_and_flags_are_exact(name: str) -> None:
    bodies = CASES[name]
    _, decoded = encoded(bodies)
    for field in ("epoch", "color", "flags"):
        assert np.array_equal(decoded[field], bodies[field])
    assert np.array_equal(decoded["scale"].view("<u2"), bodies["scale"].view("<u2"))


@pytest.mark.parametrize("name", CASES)
def test_values_are_exact_or_within_their_bounds(name: str) -> None:
    bodies = CASES[name]
    encoder, decoded = encoded(bodies)
    exact = exact_rows(encoder.block())
    assert np.array_equal(decoded.view(RECORD)[exact], bodies.view(RECORD)[exact])
    rest = np.delete(np.arange(len(bodies)), exact)
    bodies, decoded = bodies[rest], decoded[rest]
    distances = np.linalg.norm(decoded["position"].astype(np.float64) - bodies["position"], axis=1)
    # Decoded positions are rounded to float32.
    assert (distances <= error_bound_m(encoder.boxes) + np.spacing(np.abs(bodies["position"]).max(axis=1))).all()
    assert (angles_deg(bodies, decoded) < 0.0087).all()  # (0.5, 0.5, 0.5, 0.5) has the largest error
    for field, bit in (("velocity", HAS_VELOCITY), ("angular_velocity", HAS_ANGULAR_VELOCITY)):
        is_given = (bodies["flags"] & bit) != 0
        values = bodies[field].astype(np.float64)
        units = 2.0 ** encoder.boxes["exponents"][rest // CHUNK, int(field == "angular_velocity")]
        bounds = np.abs(values) / 8192 + units[:, None] / (1 << 20)
        assert (np.abs(decoded[field] - values) <= bounds)[is_given].all()
        assert not decoded[field][~is_given].any()


def test_usual_bodies_need_no_exact_records() -> None:
    for count in (1, 256, 1_000):
        encoder, _ = encoded(random_bodies(count))
        assert not len(exact_rows(encoder.block()))


def test_values_that_do_not_fit_are_sent_as_exact_records() -> None:
    bodies = random_bodies(300)
    bodies["position"][7, 1] = np.nan
    bodies["orientation"][8] = 0
    bodies["velocity"][9, 2] = 65_520
    bodies["angular_velocity"][10, 0] = np.inf
    bodies["position"][11, 0] = 5_000
    encoder, decoded = encoded(bodies)
    assert exact_rows(encoder.block()).tolist() == [7, 8, 9, 10, 11]
    assert np.array_equal(decoded.view(RECORD)[7:12], bodies.view(RECORD)[7:12])
    assert error_bound_m(encoder.boxes) < 1e-5


def test_a_velocity_that_is_not_given_does_not_matter() -> None:
    bodies = random_bodies(300)
    bodies["velocity"][5], bodies["flags"][5] = np.nan, HAS_ANGULAR_VELOCITY
    encoder, decoded = encoded(bodies)
    assert not len(exact_rows(encoder.block()))
    assert not decoded["velocity"][5].any()


def test_common_orientations_are_exact() -> None:
    bodies = edge_bodies()
    _, decoded = encoded(bodies)
    signs = np.where(bodies["orientation"][:5].sum(axis=1) < 0, -1, 1)
    assert np.array_equal(decoded["orientation"][:5], bodies["orientation"][:5] * signs[:, None])


@pytest.mark.parametrize("place", [(0, 0, 0), (1.1, -2.2, 1e9), (1e-20, 3e-7, -1e29), (1, 1e-40, 0.3)])
def test_bodies_at_one_place_have_their_exact_position(place: tuple[float, float, float]) -> None:
    bodies = random_bodies(300)
    bodies["position"] = place
    encoder, decoded = encoded(bodies)
    assert np.allclose(decoded["position"], bodies["position"], rtol=0, atol=1e-36)
    assert error_bound_m(encoder.boxes) < 1e-36
    assert not len(exact_rows(encoder.block()))


def test_a_body_at_rest_stays_where_it_is_while_the_others_move() -> None:
    bodies = random_bodies(256)
    encoder, decoder = LeanEncoder(), LeanDecoder()
    places = set()
    for step in range(50):
        bodies["position"][1:] += np.float32(0.0137) * (-1) ** step * step
        encoder.encode(bodies)
        places.add(decoder.decode(encoder.block(step))["position"][0].tobytes())
    steps = {tuple(box) for box in encoder.boxes["step"].tolist()}
    assert len(steps) == 1
    assert len(places) == 1


def test_a_body_needs_28_bytes_22_without_angular_velocities_16_without_any() -> None:
    bodies = random_bodies(10_000)
    for flags, size in ((6, 28), (HAS_VELOCITY, 22), (0, 16)):
        encoder = LeanEncoder()
        bodies["flags"] = 1 | flags
        encoder.encode(bodies)
        encoder.encode(bodies)
        assert len(encoder.block(1)) / 10_000 == pytest.approx(size, abs=0.17)


def test_a_hundred_humanoids_are_smaller_than_50_kb() -> None:
    encoder = LeanEncoder()
    bodies = random_bodies(1_700)
    encoder.encode(bodies)
    encoder.encode(bodies)
    assert len(encoder.block(1)) < 48_000


def test_a_page_that_skipped_snapshots_gets_all_rows_that_changed_meanwhile() -> None:
    rng = np.random.default_rng(7)
    bodies = random_bodies(500)
    encoder = LeanEncoder()
    pages = [LeanDecoder() for _ in range(3)]
    known = [0, 0, 0]
    for step in range(60):
        rows = rng.integers(0, 400, 3)
        bodies["color"][rows] = rng.integers(0, 256, (3, 4))
        bodies["epoch"][rows] += 1 << 16
        if step == 30:
            bodies = np.concatenate([bodies, random_bodies(11)])
        if step == 45:
            bodies = bodies[100:].copy()
        encoder.encode(bodies)
        for page, decoder in enumerate(pages):
            if step % (page + 1) == 0:
                decoded = decoder.decode(encoder.block(known[page]))
                known[page] = encoder.version
                assert np.array_equal(decoded["color"], bodies["color"])
                assert np.array_equal(decoded["epoch"], bodies["epoch"])


def test_rows_that_did_not_change_are_not_sent() -> None:
    bodies = random_bodies(1_000)
    encoder = LeanEncoder()
    encoder.encode(bodies)
    whole = len(encoder.block(0))
    encoder.encode(bodies)
    none = len(encoder.block(1))
    bodies["color"][5] = 0
    encoder.encode(bodies)
    assert whole - none == 10_000
    assert len(encoder.block(2)) - none == pytest.approx(14, abs=8)


@pytest.mark.parametrize("size", [0, 15, 16, 40, 1_000, 28_000])
def test_a_block_that_was_cut_off_is_refused(size: int) -> None:
    encoder, _ = encoded(random_bodies(1_000))
    with pytest.raises(ValueError, match="are needed"):
        LeanDecoder().decode(encoder.block()[:size])


def test_a_page_without_the_rows_refuses_a_block_of_changes() -> None:
    encoder, _ = encoded(random_bodies(100))
    encoder.encode(random_bodies(100))
    with pytest.raises(ValueError, match="0 changed rows of 100, but 0 are known"):
        LeanDecoder().decode(encoder.block(1))


def test_random_bytes_are_decoded_or_refused() -> None:
    rng = np.random.default_rng(8)
    for size in (16, 64, 4_096):
        for _ in range(50):
            block = bytearray(rng.integers(0, 256, size, np.uint8).tobytes())
            block[:16] = rng.integers(0, 20, 4).astype("<u4").tobytes()
            try:
                LeanDecoder().decode(bytes(block))
            except ValueError:
                pass


def test_hostile_bodies_survive_a_second_snapshot() -> None:
    encoder, decoder = LeanEncoder(), LeanDecoder()
    for seed in range(3):
        bodies = hostile_bodies(700, seed)
        encoder.encode(bodies)
        assert np.array_equal(decoder.decode(encoder.block(encoder.version - 1))["epoch"], bodies["epoch"])


def test_no_body_is_a_block_too() -> None:
    encoder, decoded = encoded(new_bodies(0))
    assert len(decoded) == 0
    assert error_bound_m(encoder.boxes) == 0

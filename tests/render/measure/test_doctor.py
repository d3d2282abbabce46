"""The doctor's verdicts, on made-up machines and on this one."""

import time

from tests.render.measure.runs import FRAME_NS, START_NS
from twixt.render.measure import doctor, doctor_presents
from twixt.render.measure.doctor_presents import Seen
from twixt.render.measure.verdict import BAD, GOOD, USABLE
from twixt.render.pacing.refresh import Refresh

BLOCKING = Refresh(True, FRAME_NS, "as tried")
NOT_BLOCKING = Refresh(False, None, "as tried")
RETURNS_NS = [START_NS + i * FRAME_NS for i in range(90)]


def test_a_reported_refresh_that_is_true_is_good_and_a_false_one_is_named():
    assert doctor.refresh(60.0, RETURNS_NS, BLOCKING).grade == GOOD
    lying = doctor.refresh(75.0, RETURNS_NS, BLOCKING)
    assert lying.grade == USABLE
    assert "60.00 Hz measured, 75 Hz reported" in lying.says


def test_a_refresh_is_not_claimed_where_swap_does_not_wait():
    verdict = doctor.refresh(60.0, [], NOT_BLOCKING)
    assert verdict.grade == USABLE
    assert "measured," not in verdict.says


def test_a_swap_that_does_not_wait_is_usable():
    assert doctor.vsync(NOT_BLOCKING).grade == USABLE
    assert doctor.vsync(BLOCKING).grade == GOOD


def test_software_drawing_is_usable_and_a_gpu_good():
    assert doctor.graphics("llvmpipe (LLVM 15.0.6, 256 bits)", "4.5").grade == USABLE
    assert doctor.graphics("NVIDIA GeForce", "4.6").grade == GOOD


def test_a_clock_of_its_own_in_each_process_is_bad():
    assert doctor.clock(lambda: 0).grade == BAD
    assert doctor.clock(lambda: time.perf_counter_ns() + 10**9).grade == BAD
    assert doctor.clock(time.perf_counter_ns).grade == GOOD


def test_waking_late_is_said():
    assert doctor.sleeping([100.0] * 50, [2.0] * 50).grade == GOOD
    assert doctor.sleeping([9000.0] * 50, [9000.0] * 50).grade == USABLE


def test_this_machines_processes_share_one_clock_and_one_memory():
    assert doctor.clock(doctor._child_clock).grade == GOOD
    assert doctor.shared_memory().grade == GOOD


ANSWERS = Seen(
    "wp_presentation", "", RETURNS_NS, [at + 9_900_000 for at in RETURNS_NS], [9_900_000] * 89 + [12_000_000],
    "vsync hw-clock", 1, 9_000_000, 50_000, True,
)  # fmt: skip
SILENT = ANSWERS._replace(presents_ns=[], offs_ns=[], discarded=0, silence="never answers: 40 frames without a word")
AT_ONCE = SILENT._replace(swap_ns=100_000, fence_ns=7_000_000)


def test_a_display_that_tells_of_presents_is_good_with_how_far_off_the_swaps_return_is():
    verdict = doctor_presents.presents(ANSWERS, True)
    assert verdict.grade == GOOD
    for words in ("wp_presentation: 90 of 90", "1 discarded", "vsync hw-clock", "9.90 ms before", "within 0.23 ms"):
        assert words in verdict.says
    assert ANSWERS.instants_ns == ANSWERS.presents_ns
    assert SILENT.instants_ns == RETURNS_NS
    early = ANSWERS._replace(offs_ns=[-2_000_000] * 90, is_tried=False, flags="")
    assert "2.00 ms after" in doctor_presents.presents(early, True).says
    assert "not tried on hardware" in doctor_presents.presents(early, True).says
    assert "software stamps" in doctor_presents.presents(early, True).says


def test_a_display_that_is_silent_is_usable_with_what_stands_for_its_word():
    for seen, blocks, stands in ((SILENT, True, "swap's return"), (AT_ONCE, True, "fence"), (SILENT, False, "timer")):
        verdict = doctor_presents.presents(seen, blocks)
        assert verdict.grade == USABLE
        assert "never answers" in verdict.says
        assert stands in verdict.says


def test_a_fence_is_good_where_it_waits_or_is_not_needed():
    assert doctor_presents.fence(ANSWERS, True).grade == GOOD
    assert "not needed" in doctor_presents.fence(ANSWERS, True).says
    assert doctor_presents.fence(AT_ONCE, True).grade == GOOD
    nothing = AT_ONCE._replace(fence_ns=50_000)
    assert doctor_presents.fence(nothing, True).grade == USABLE
    assert "for nothing" in doctor_presents.fence(nothing, False).says


def test_a_nice_viewer_is_warned_of_and_one_of_short_slices_is_well() -> None:
    assert doctor.priority(0, 100_000) == (
        "priority", GOOD, "nice 0; let on soon after it wakes (slices of 0.1 ms)"
    )  # fmt: skip
    assert doctor.priority(0, None).grade == USABLE
    assert "stays off the core of a loop that never rests" in doctor.priority(0, 100_000, 2).says
    assert "a single core" in doctor.priority(0, 100_000, 1).says
    assert "at nice 5 it may starve" in doctor.priority(5, 100_000).says

"""The doctor's verdicts, on made-up machines and on this one."""

import os
import subprocess
import sys
import time

import pytest

from tests.render.measure.runs import FRAME_NS, START_NS
from twixt.cli import doctor, presents
from twixt.cli.presents import BAD, GOOD, USABLE, SwapObservations
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


ANSWERS = SwapObservations(
    way="wp_presentation",
    silence="",
    returns_ns=RETURNS_NS,
    presents_ns=[at + 9_900_000 for at in RETURNS_NS],
    present_delays_ns=[9_900_000] * 89 + [12_000_000],
    flags="vsync hw-clock",
    discarded=1,
    swap_ns=9_000_000,
    fence_ns=50_000,
    is_tried=True,
)
SILENT = ANSWERS._replace(
    presents_ns=[], present_delays_ns=[], discarded=0, silence="never answers: 40 frames without a report"
)
AT_ONCE = SILENT._replace(swap_ns=100_000, fence_ns=7_000_000)


def test_a_display_that_tells_of_presents_is_good_with_how_far_off_the_swaps_return_is():
    verdict = presents.presents(ANSWERS, True)
    assert verdict.grade == GOOD
    for words in ("wp_presentation: 90 of 90", "1 discarded", "vsync hw-clock", "9.90 ms before", "at most 0.23 ms"):
        assert words in verdict.says
    assert ANSWERS.instants_ns == ANSWERS.presents_ns
    assert SILENT.instants_ns == RETURNS_NS
    early = ANSWERS._replace(present_delays_ns=[-2_000_000] * 90, is_tried=False, flags="")
    assert "2.00 ms after" in presents.presents(early, True).says
    assert "not tried on hardware" in presents.presents(early, True).says
    assert "software timestamps" in presents.presents(early, True).says


def test_a_display_that_is_silent_is_usable_with_what_stands_for_its_word():
    for seen, blocks, stands in (
        (SILENT, True, "return of the swap"),
        (AT_ONCE, True, "fence"),
        (SILENT, False, "timer"),
    ):
        verdict = presents.presents(seen, blocks)
        assert verdict.grade == USABLE
        assert "never answers" in verdict.says
        assert stands in verdict.says


def test_where_swaps_return_at_once_and_no_fence_waits_presents_are_said_to_be_counted():
    says = presents.presents(AT_ONCE._replace(fence_ns=50_000), True).says
    assert "counts refreshes" in says
    assert "estimate" in says
    assert "return of the swap" not in says


def test_a_fence_is_good_where_it_waits_or_is_not_needed():
    assert presents.fence(ANSWERS, True).grade == GOOD
    assert "not needed" in presents.fence(ANSWERS, True).says
    assert presents.fence(AT_ONCE, True).grade == GOOD
    nothing = AT_ONCE._replace(fence_ns=50_000)
    assert presents.fence(nothing, True).grade == USABLE
    assert "neither the swap nor the fence waits" in presents.fence(nothing, False).says


def test_a_nice_viewer_is_warned_of_and_one_of_short_slices_is_well() -> None:
    assert doctor.priority(0, 100_000) == (
        "priority", GOOD, "nice 0; the viewer runs soon after it wakes (time slice 0.1 ms)"
    )  # fmt: skip
    assert doctor.priority(0, None).grade == USABLE
    assert "avoids the core of a loop that never sleeps" in doctor.priority(0, 100_000, 2).says
    assert "its only core" in doctor.priority(0, 100_000, 1).says
    assert "nice 5: the viewer gets little CPU time" in doctor.priority(5, 100_000).says


def test_a_viewer_that_is_no_usual_program_is_said_to_be_so() -> None:
    for policy, effect in (("SCHED_IDLE", "gets little CPU time"), ("SCHED_FIFO", "runs before all normal programs")):
        verdict = doctor.priority(0, None, policy=policy)
        assert verdict.grade == USABLE
        assert f"with {policy}, the viewer {effect}" in verdict.says


@pytest.mark.skipif(not hasattr(os, "SCHED_BATCH"), reason="skipped: no such policies")
def test_a_slice_that_is_the_machines_own_is_not_said_to_be_granted() -> None:
    asked = (
        "import os; os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))\n"
        "from twixt.cli import doctor; print(doctor._policy(), doctor._slice_ns())"
    )
    ran = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert ran.stdout == "SCHED_BATCH None\n"

"""The doctor's verdicts, on made-up machines and on this one."""

import time

from tests.render.measure.runs import FRAME_NS, START_NS
from twixt.render.measure import doctor
from twixt.render.measure.doctor import BAD, GOOD, USABLE
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

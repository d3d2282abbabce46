"""The module on the front door: MuJoCo's launchers, `publish`, and a machine without MuJoCo."""

from __future__ import annotations

import inspect
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.sim.engines.mujoco.models import MOVING, Launch
from twixt.ipc.errors import TwixtError
from twixt.sim.engines.mujoco.mujoco_package import version_note

mujoco = pytest.importorskip("mujoco")
own_viewer = pytest.importorskip("mujoco.viewer")

import twixt  # noqa: E402
from twixt import mujoco_viewer  # noqa: E402
from twixt.sim.engines.mujoco.handle import Handle  # noqa: E402

ROOT = Path(twixt.__file__).parent
WITHOUT = "import sys; sys.modules['mujoco'] = None; sys.path.append({root!r})\n"


def test_every_name_of_mujocos_own_handle_is_there_with_its_parameters() -> None:
    for name in dir(own_viewer.Handle):
        if name.startswith("_"):
            continue
        own, ours = getattr(own_viewer.Handle, name), getattr(Handle, name)
        if callable(own):
            assert list(inspect.signature(ours).parameters) == list(inspect.signature(own).parameters), name


@pytest.mark.parametrize("name", ["launch", "launch_from_path", "launch_passive"])
def test_launchers_take_what_mujocos_own_take(name: str) -> None:
    own = inspect.signature(getattr(own_viewer, name)).parameters
    ours = inspect.signature(getattr(mujoco_viewer, name)).parameters
    for parameter in own.values():
        assert ours[parameter.name].kind == parameter.kind
        assert ours[parameter.name].default == parameter.default


def test_wrong_arguments_are_refused_in_mujocos_own_words() -> None:
    model = mujoco.MjModel.from_xml_string(MOVING)
    data = mujoco.MjData(model)
    for arguments in ((None, data), (model, None), (model, data, 3)):
        words = []
        for launch in (own_viewer.launch_passive, mujoco_viewer.launch_passive):
            with pytest.raises(ValueError) as raised:  # noqa: PT011  # compared below
                launch(*arguments[:2], key_callback=arguments[2] if len(arguments) > 2 else None)
            words.append(str(raised.value))
        assert words[0] == words[1]
    with pytest.raises(ValueError, match="mjData is specified but mjModel is not"):
        mujoco_viewer.launch(None, data)
    with pytest.raises(TwixtError, match="publish-hz"):
        mujoco_viewer.launch_passive(model, data, publish_hz=0, viewer=False)


def test_an_option_of_show_reaches_the_viewer_and_a_wrong_one_is_refused() -> None:
    model = mujoco.MjModel.from_xml_string(MOVING)
    data = mujoco.MjData(model)
    with mujoco_viewer.launch_passive(model, data, viewer=False, camera="still") as viewer:
        assert viewer.view._session._config.camera == "still"
    with pytest.raises(TwixtError, match="^camera must be one of auto, still, got 'stil'$"):
        mujoco_viewer.launch_passive(model, data, viewer=False, camera="stil")


def test_launch_steps_in_real_time_until_the_window_is_closed() -> None:
    model = mujoco.MjModel.from_xml_string(MOVING)
    data = mujoco.MjData(model)
    mujoco_viewer.launch(model, data, viewer=False, seconds=0.3)
    assert 0 < data.time < 30  # a bound that no machine reaches within the time


def test_launch_from_path_names_the_file_that_it_cannot_load(tmp_path: Path) -> None:
    with pytest.raises(TwixtError, match="no file 'gone.xml'"):
        mujoco_viewer.launch_from_path("gone.xml")
    broken = tmp_path / "broken.xml"
    broken.write_text("<mujoco><worldbody><geom/></worldbody></mujoco>")
    with pytest.raises(TwixtError, match=r"cannot load .*broken.xml.*size 0 must be positive"):
        mujoco_viewer.launch_from_path(broken)


def test_a_loop_of_ones_own_publishes_on_its_view() -> None:
    model = mujoco.MjModel.from_xml_string(MOVING)
    data = mujoco.MjData(model)
    with twixt.show(mujoco_viewer.scene(model), viewer=False) as view:
        for _ in range(3):
            mujoco.mj_step(model, data)
            mujoco_viewer.publish(view, data)
        newest: Any = view._host.ring.newest()
        assert np.allclose(newest.bodies["position"], data.xpos)
        assert newest.head.sim_time_ns == round(data.time * 1e9)
        other = mujoco.MjData(model)
        other.qpos[2] = 7
        mujoco_viewer.publish(view, other)  # without a step: MuJoCo has not computed any pose
        newest = view._host.ring.newest()
        assert newest.bodies["position"][1].tolist() == [0, 0, 7]


FAR = """<mujoco><option timestep="0.02" gravity="0 0 0"/><worldbody>
  <body pos="5.4e6 0 0"><joint type="slide" axis="1 0 0"/><geom size="1"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize("is_passive", [True, False])
def test_a_body_so_far_away_that_it_moves_in_visible_steps_is_named_once(
    launch: Launch, capfd: pytest.CaptureFixture[str], is_passive: bool
) -> None:
    handle, _ = launch(FAR, publish_hz=1000)
    data, view = handle.d, handle._view
    data.qvel[0] = 3.0
    capfd.readouterr()
    while view._now.tick < 200:  # publishes
        mujoco.mj_step(handle.m, data)
        tick = view._now.tick
        if not is_passive:
            mujoco_viewer.publish(view, data)
        for _ in range(1_000_000):
            if view._now.tick != tick:
                break
            handle.sync()
        assert view._now.tick != tick
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("twixt: body 1 at x = 5,400,0")
    assert "moves in steps of 0.5 m" in line


def run(code: str) -> subprocess.CompletedProcess[str]:
    program = WITHOUT.format(root=str(ROOT)) + code
    return subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, timeout=60)


def test_without_mujoco_twixt_is_as_before_and_the_viewer_names_the_way_out() -> None:
    done = run("import twixt\nfrom twixt import *\nimport twixt.sim.engines.mujoco.mujoco_viewer\nprint(Scene)")
    assert done.returncode == 0, done.stderr
    done = run("from twixt import mujoco_viewer")
    assert done.returncode == 1
    assert done.stderr.strip().endswith('the package mujoco; install it with: pip install "mujoco>=3.17,<5"')
    done = run("try:\n    from twixt import mujoco_viewer\nexcept ImportError:\n    print('caught')")
    assert done.stdout == "caught\n"
    done = run("import twixt\nsys.exit(twixt.main(['sim', 'robot.xml']))")
    assert done.returncode == 2
    assert done.stderr.startswith("twixt: ")
    assert "Traceback" not in done.stderr


def test_a_version_that_was_never_tested_is_named() -> None:
    assert version_note("4.0.0") == version_note("3.17.1") == version_note("3.20") == ""
    assert re.match("mujoco 3.9.0 is older than 3.17, the oldest version", version_note("3.9.0"))
    assert re.match("mujoco 4.1.0 is newer than 4.0, the newest version", version_note("4.1.0"))
    assert version_note(mujoco.__version__) == ""


def test_the_example_runs(capfd: pytest.CaptureFixture[str]) -> None:
    example = ROOT / "examples" / "mujoco_dropin.py"
    assert len(example.read_text().splitlines()) < 40
    runpy.run_path(str(example))["main"](seconds=0.1, viewer=False)
    assert "no effect" not in capfd.readouterr().err

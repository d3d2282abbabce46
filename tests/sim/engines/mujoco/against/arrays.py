"""Each field of `mjModel`, `mjVisual` and `mjStatistic` that changes while the passive viewer runs: MuJoCo's picture, ours.

    python -m tests.sim.engines.mujoco.against.arrays

prints the table. A field is changed in a process of its own first, and MuJoCo is asked what it would draw: most change
nothing there, and some end the process. For the others both renderers draw the model before and after; MuJoCo's keeps
what it has loaded, as its viewer does.

Always: fields are found in the model, not listed: one that a new version of MuJoCo brings is looked at, too.
"""

from __future__ import annotations

import argparse
import copy
import faulthandler
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import mujoco
import numpy as np

from tests.sim.engines.mujoco.against.overlap import agreement
from tests.sim.engines.mujoco.against.pictures import MujocosPictures, State, TwixtPictures
from tests.sim.engines.mujoco.models import Reader
from twixt.ipc.scene import Scene
from twixt.ipc.scene.scene import packed_scene
from twixt.ipc.session import attach
from twixt.sim.engines.mujoco.model.model_scene import scene
from twixt.sim.engines.mujoco.mujoco_viewer import launch_passive
from twixt.sim.engines.mujoco.visual.geom_memory import geom_records

# One of each: what a picture can show, and what moves, carries and measures it.
EVERYTHING = """
<mujoco>
  <option timestep="0.002"/>
  <statistic extent="3" center="0.5 0 0.5"/>
  <visual><quality shadowsize="128" offsamples="0"/></visual>
  <asset>
    <texture name="squares" type="2d" builtin="checker" rgb1="0.9 0.3 0.4" rgb2="0.2 0.3 0.8" width="64" height="64"/>
    <texture name="dots" type="2d" builtin="gradient" rgb1="0.1 0.9 0.2" rgb2="0.9 0.9 0.1" width="64" height="64"/>
    <texture name="sky" type="skybox" builtin="gradient" rgb1="0.3 0.5 0.7" rgb2="0 0 0" width="32" height="192"/>
    <material name="floor" texture="squares" texrepeat="3 3" texuniform="true"/>
    <material name="tiles" texture="dots" texrepeat="2 3"/>
    <material name="dull" rgba="0.8 0.4 0.2 1" specular="0.2" shininess="0.3"/>
    <mesh name="wedge" vertex="0 0 0  0.4 0 0  0 0.5 0  0 0 0.6"/>
    <mesh name="block" vertex="0 0 0  0.3 0 0  0.3 0.3 0  0 0.3 0  0 0 0.3  0.3 0 0.3  0.3 0.3 0.3  0 0.3 0.3"/>
    <hfield name="hill" nrow="4" ncol="5" size="0.5 0.4 0.3 0.1" elevation="0 0 0 0 0  0 1 .6 .2 0  0 .4 1 .3 0  0 0 0 0 0"/>
    <hfield name="dune" nrow="3" ncol="3" size="0.4 0.3 0.2 0.1" elevation="0 0 0  0 1 0  0 0 0"/>
  </asset>
  <worldbody>
    <light name="sun" type="directional" pos="1 -1 4" dir="-0.3 0.3 -1" diffuse="0.5 0.4 0.4"/>
    <light name="spot" type="spot" pos="0 1 3" dir="0 -0.2 -1" diffuse="0.3 0.3 0.4" cutoff="50" exponent="2"
           attenuation="1 0.05 0.01"/>
    <camera name="wall" pos="0.5 -4 2" xyaxes="1 0 0 0 0.5 1" fovy="55"/>
    <camera name="lens" pos="0.5 -4 2" xyaxes="1 0 0 0 0.5 1" focal="0.02 0.02" sensorsize="0.03 0.02" resolution="64 48"/>
    <geom name="ground" type="plane" size="0 0 0.1" material="floor"/>
    <geom name="hill" type="hfield" hfield="hill" pos="-1.2 1 0" material="dull"/>
    <geom name="post" type="cylinder" size="0.1 0.4" pos="1.6 0 1.6" euler="90 0 0"/>
    <geom name="wall" type="plane" size="1 0.5 0.1" pos="0.5 2 0.6" euler="90 0 0" material="tiles"/>
    <site name="left" pos="0.5 0 2" size="0.05"/> <site name="right" pos="2.2 0 1.2"/> <site name="side" pos="1.6 0 1.9"/>
    <body name="plate" pos="1 0 1">
      <joint name="rail" type="slide" axis="0 0 1"/>
      <joint name="hinge" type="hinge" axis="0 1 0"/>
      <geom type="box" size="0.5 0.3 0.05" mass="1" rgba="0.2 0.7 0.7 1"/>
      <light name="lamp" mode="fixed" pos="0 0 1" dir="0 0 -1" diffuse="0.1 0.1 0.1"/>
      <camera name="carried" pos="0 -3 0.4" xyaxes="1 0 0 0 0.2 1"/>
      <site name="plate_left" pos="-0.5 0 0"/> <site name="plate_right" pos="0.5 0 0" type="box" size="0.05 0.06 0.07"/>
      <site name="down" pos="0 0 -0.1" euler="180 0 0"/>
    </body>
    <body name="box" pos="1 0 0.1"><freejoint/><geom name="box" type="box" size="0.2 0.2 0.1" material="dull"/></body>
    <body name="ball" pos="1.05 0.05 0.3"><freejoint/><geom name="ball" size="0.1" rgba="0.9 0.8 0.1 0.6"/></body>
    <body name="pair" pos="-0.8 -0.6 0.5">
      <joint type="ball"/>
      <geom name="wedge" type="mesh" mesh="wedge" material="tiles" pos="0.2 0 0"/>
      <geom name="block" type="mesh" mesh="block" pos="-0.4 0 0" euler="10 20 30"/>
      <geom name="pill" type="capsule" size="0.05 0.2" pos="0 0.3 0.1" euler="0 90 0"/>
      <geom name="egg" type="ellipsoid" size="0.1 0.15 0.2" pos="0 -0.4 0.1" rgba="0.3 0.9 0.3 1"/>
    </body>
    <body name="shifted" pos="-0.3 0.5 0.4" euler="0 0 20">
      <joint type="ball"/>
      <geom name="shifted" type="box" size="0.1 0.15 0.2" pos="0.1 0.05 0.1" euler="20 10 0"/>
    </body>
    <body name="target" mocap="true" pos="0 2 1"><geom type="sphere" size="0.1" contype="0" conaffinity="0"/></body>
    <body name="upper" pos="-0.5 -1.5 1">
      <joint type="hinge" axis="0 1 0"/>
      <geom type="capsule" size="0.02" fromto="0 0 0 0.5 0 0"/>
      <body name="lower" pos="0.5 0 0">
        <joint type="hinge" axis="0 1 0"/>
        <geom type="capsule" size="0.02" fromto="0 0 0 0.5 0 0"/>
      </body>
    </body>
    <flexcomp name="cloth" type="grid" count="4 3 1" spacing="0.15 0.15 0.1" dim="2" pos="0 0 1" rgba="1 0 0 1"
              radius="0.005" mass="0.1"><edge equality="true"/></flexcomp>
    <flexcomp name="cable" type="grid" count="4 1 1" spacing="0.1 0.1 0.1" dim="1" pos="1.5 -1 1" radius="0.01" mass="0.1">
      <edge equality="true"/>
    </flexcomp>
    <flexcomp name="jelly" type="grid" count="3 3 3" spacing="0.1 0.1 0.1" dim="3" pos="0.6 -1 0.5" rgba="0 1 0 1"
              radius="0.005" mass="0.1"><edge equality="true"/></flexcomp>
  </worldbody>
  <deformable>
    <skin name="sleeve" material="dull" vertex="-.5 -1.6 1  -.5 -1.4 1  0 -1.6 1  0 -1.4 1  .5 -1.6 1  .5 -1.4 1"
          face="0 2 1  1 2 3  2 4 3  3 4 5">
      <bone body="upper" bindpos="-.5 -1.5 1" bindquat="1 0 0 0" vertid="0 1 2 3" vertweight="1 1 0.5 0.5"/>
      <bone body="lower" bindpos="0 -1.5 1" bindquat="1 0 0 0" vertid="2 3 4 5" vertweight="0.5 0.5 1 1"/>
    </skin>
  </deformable>
  <tendon>
    <spatial name="straight" width="0.01" rgba="1 0 0 1"><site site="left"/><site site="plate_left"/></spatial>
    <spatial name="wrapped" width="0.02" group="1" material="dull">
      <site site="right"/><geom geom="post" sidesite="side"/><site site="plate_right"/>
    </spatial>
  </tendon>
  <actuator><motor joint="hinge"/><motor tendon="straight"/><position joint="rail" kp="10"/></actuator>
  <sensor><rangefinder site="down"/><touch site="plate_left"/></sensor>
  <equality><connect body1="plate" body2="pair" anchor="0 0 0" active="false"/></equality>
  <keyframe><key name="k" time="1"/></keyframe>
</mujoco>
"""
MODULE = "tests.sim.engines.mujoco.against.arrays"
SIZE_PX = (160, 120)
STEPS = 20
# Steps of 255 that a pixel has to change by.
COLOR_STEPS = 3
# Longest time for what MuJoCo would draw of one change, seconds: some leave it in a loop without end.
PATIENCE_S = 10
MOST_GEOMS, ALL_STATES_HZ = 5_000, 1e6
# Arrays of `mjvScene` that hold what was in memory before where nothing needs them: their pictures are looked at always.
UNSET = ("flexface", "flexnormal", "flextexcoord")
DRAWN_ALWAYS = ("flex_flatskin", "flex_elem", "flex_shell", "flex_radius", "flex_texcoord")
FREE = -1  # the number of a camera of the model, or this
VISUAL, STATISTIC = "vis", "stat"
OPTION_GROUPS = ("geomgroup", "sitegroup", "jointgroup", "tendongroup", "actuatorgroup", "flexgroup", "skingroup")
# Flags of options that show all that `mjvOption` can show, but for those that change how bodies look.
BODY_FLAGS = ("TRANSPARENT", "CONVEXHULL")
# Verdicts. The last three are those where MuJoCo's picture stays as it is.
ALIKE, OURS_STAYS, OURS_ALONE, BOTH_STAY, REFUSED, ABSENT = (
    "alike", "ours stays", "ours alone", "both stay", "refused", "absent"
)  # fmt: skip


class View(NamedTuple):
    """camera: FREE, or the number of one of the model. shows_all: all that options can show, not their defaults alone."""

    camera: int = FREE
    shows_all: bool = False


VIEWS = (View(), View(0), View(1), View(2), View(shows_all=True))


class Seen(NamedTuple):
    """Field `name`, and the change of it that MuJoCo draws otherwise in `view`; None: no change is. refused: MuJoCo fails,
    or ends the process, with each change of it that it does not draw as before."""

    name: str
    change: int = 0
    view: int | None = None
    refused: bool = False


class Row(NamedTuple):
    """theirs, ours: share of the pixels that change; of marks 1 if they do. overlap: of our picture and MuJoCo's
    afterwards; 1 where it was not asked for. said: on standard error. is_fresh: our scene is that of a viewer that opens
    now, or the field was named."""

    name: str
    theirs: float
    ours: float
    overlap: float
    said: bool
    is_fresh: bool

    @property
    def verdict(self) -> str:
        """One of the verdicts."""
        if self.theirs and self.ours:
            return ALIKE
        return OURS_STAYS if self.theirs else OURS_ALONE if self.ours else BOTH_STAY


def state() -> tuple[Any, Any]:
    """The model of EVERYTHING, and its data after some steps."""
    model = mujoco.MjModel.from_xml_string(EVERYTHING)
    data = mujoco.MjData(model)
    for _ in range(STEPS):
        mujoco.mj_step(model, data)
    return model, data


def copied(model: Any, data: Any) -> tuple[Any, Any]:
    """A copy of both."""
    other = copy.copy(model)
    return other, _copy_of(other, data)


def _copy_of(model: Any, data: Any) -> Any:
    fresh = mujoco.MjData(model)
    mujoco.mj_copyData(fresh, model, data)
    return fresh


def fields(model: Any) -> Iterator[str]:
    """Names of all arrays and numbers of the model, its visual part and its statistic."""
    for name in _names(model):
        if name not in ("opt", VISUAL, STATISTIC):
            yield name
    for part in (VISUAL, STATISTIC):
        for name in _names(getattr(model, part)):
            inner = getattr(getattr(model, part), name)
            if isinstance(inner, int | float | np.ndarray):
                yield f"{part}.{name}"
            else:
                yield from (f"{part}.{name}.{last}" for last in _names(inner))


def _names(struct: Any) -> Iterator[str]:
    for name in dir(struct):
        if not name.startswith("_") and not isinstance(value := getattr(struct, name), bytes) and not callable(value):
            yield name


def _owner(model: Any, name: str) -> tuple[Any, str]:
    *path, last = name.split(".")
    for part in path:
        model = getattr(model, part)
    return model, last


def changes(model: Any, name: str) -> list[Any]:
    """Values that a field is given."""
    owner, last = _owner(model, name)
    value = getattr(owner, last)
    if not isinstance(value, np.ndarray):
        return [value * 1.7 + 0.3, value * 0.1] if isinstance(value, float) else [int(not value), value + 1]
    if not value.size:
        return []
    if value.dtype.kind == "f":
        if "quat" in name:
            return [_turned(value)]
        return [value * 0.4, value * 1.25 + 0.13]
    if "group" in name:
        return [value + 3]  # one that is not shown
    return [np.roll(value, 1, axis=0), (value == 0).astype(value.dtype), value + 1]


def _turned(quaternions: Any) -> Any:
    turn, rows = np.array((0.9, 0.3, -0.2, 0.25)), quaternions.reshape(-1, 4).astype(float)
    turn /= np.linalg.norm(turn)
    for row in rows:
        mujoco.mju_mulQuat(row, turn, row.copy())
    return rows.reshape(quaternions.shape).astype(quaternions.dtype)


def change(model: Any, data: Any, name: str, number: int) -> None:
    """Gives a field its change of this number, and has MuJoCo compute what follows. Raises AttributeError, TypeError for
    one that cannot be set."""
    owner, last = _owner(model, name)
    _set(owner, last, changes(model, name)[number])
    mujoco.mj_forward(model, data)


def _set(owner: Any, name: str, value: Any) -> None:
    if isinstance(value, np.ndarray):
        getattr(owner, name)[...] = value
    else:
        setattr(owner, name, value)


def set_options(opt: Any, view: View) -> None:
    """Sets what `opt` shows."""
    if not view.shows_all:
        return
    for name, flag in mujoco.mjtVisFlag.__members__.items():
        if not name.startswith("mjN") and name.removeprefix("mjVIS_") not in BODY_FLAGS:
            opt.flags[int(flag)] = 1
    for name in OPTION_GROUPS:
        getattr(opt, name)[:] = 1


def set_camera(camera: Any, view: View) -> None:
    """Sets where `camera` sees from."""
    camera.lookat[:] = 0.5, 0, 0.6
    camera.distance, camera.azimuth, camera.elevation = 5.5, 100, -25
    if view.camera != FREE:
        camera.type, camera.fixedcamid = mujoco.mjtCamera.mjCAMERA_FIXED, view.camera


class Look:
    """What MuJoCo would draw of a model: bytes of its scene."""

    def __init__(self, model: Any, view: View) -> None:
        self._opt, self._camera = mujoco.MjvOption(), mujoco.MjvCamera()
        set_options(self._opt, view)
        set_camera(self._camera, view)
        self._scene = mujoco.MjvScene(model, MOST_GEOMS)
        self._perturb, geoms = mujoco.MjvPerturb(), geom_records(self._scene)
        self._bytes = geoms.view(f"V{geoms.itemsize}").view(np.uint8).reshape(len(geoms), -1)
        # From there on: texts, which are what was in memory beyond their end, and bounds, which are not drawn.
        self._label = int(geoms.dtype.fields["label"][1])
        self._arrays = [name for name in _names(self._scene) if name.startswith(("skin", "flex")) and name not in UNSET]

    def taken(self, model: Any, data: Any) -> bytes:
        """Of the present state."""
        drawn, every = self._scene, int(mujoco.mjtCatBit.mjCAT_ALL)
        mujoco.mjv_updateCamera(model, data, self._camera, drawn)  # infinite planes are laid around where it was before
        mujoco.mjv_updateScene(model, data, self._opt, self._perturb, self._camera, every, drawn)
        found = [self._bytes[: drawn.ngeom, : self._label].tobytes()]
        found += [_values(each) for each in (*drawn.lights[: drawn.nlight], *drawn.camera)]
        found += [np.asarray(getattr(drawn, name)).tobytes() for name in self._arrays]
        return b"".join(found)


def _values(struct: Any) -> bytes:
    return b"".join(np.asarray(getattr(struct, name)).tobytes() for name in _names(struct))


def seen_fields(names: list[str] | None = None) -> list[Seen]:
    """What MuJoCo draws otherwise after each field's changes. names: of some fields; None: all."""
    model, data = state()
    mujoco.mj_forward(model, data)
    looks = [Look(model, view) for view in VIEWS]
    same = _copy_of(model, data)
    mujoco.mj_forward(model, same)
    for _ in range(2):  # a scene that is new does not hold all of its camera yet
        before = [look.taken(model, same) for look in looks]
    found = []

    def views(name: str, numbers: range) -> list[list[int]]:
        return [_views(model, data, looks, before, name, number) for number in numbers]

    for name in fields(model) if names is None else names:
        count = len(changes(model, name))
        answers = _in_child(views, name, range(count)) if count else []
        if answers is None:  # then each alone
            answers = [(_in_child(views, name, range(each, each + 1)) or [None])[0] for each in range(count)]
        if name.startswith(DRAWN_ALWAYS):
            answers = [answer if answer is None else [0] for answer in answers]
        visible = [(answer[0], number) for number, answer in enumerate(answers) if answer]
        view, number = min(visible, default=(None, 0))
        found.append(Seen(name, number, view, view is None and None in answers))
    return found


def all_seen_fields() -> list[Seen]:
    """What `seen_fields` finds, in a new process: it makes a copy of its own for each field, and a process with little in its
    memory is copied in a tenth of the time."""
    done = subprocess.run([sys.executable, "-m", MODULE, "--fields"], capture_output=True, text=True, check=True)
    return [Seen(*each) for each in json.loads(done.stdout)]


def _views(model: Any, data: Any, looks: list[Look], before: list[bytes], name: str, number: int) -> list[int]:
    owner, last = _owner(model, name)
    value, fresh = copy.copy(getattr(owner, last)), _copy_of(model, data)
    change(model, fresh, name, number)
    mujoco.mj_forward(model, mujoco.MjData(model))  # a model that MuJoCo itself cannot begin with is refused
    found = [view for view, look in enumerate(looks) if look.taken(model, fresh) != before[view]]
    _set(owner, last, value)
    return found


def _in_child(work: Any, *arguments: Any) -> Any:
    """What `work` returns in a process of its own; None where that fails or ends."""
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        faulthandler.disable()
        signal.alarm(PATIENCE_S)
        with suppress(BaseException):
            os.write(writes, json.dumps(work(*arguments)).encode())
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads, "rb") as answer:
        said = answer.read()
    os.waitpid(child, 0)
    return json.loads(said) if said else None


class Beside:
    """Both renderers, and the pictures before any change, by view."""

    def __init__(self, has_overlap: bool) -> None:
        self._has_overlap = has_overlap
        self._ours = TwixtPictures(SIZE_PX)
        self._model, self._data = state()
        self._theirs = MujocosPictures(self._model, SIZE_PX)
        self._before: dict[View, tuple[Any, Any]] = {}

    def row(self, seen: Seen) -> Row:
        """The row of a field that MuJoCo draws otherwise in a view."""
        view = VIEWS[seen.view or 0]
        if view not in self._before:
            self._before[view] = self._drawn(view, None)[:2]
        theirs, ours, *others = self._drawn(view, seen)
        before = self._before[view]
        return Row(seen.name, _share(before[0], theirs), _share(before[1], ours), *others)

    def _drawn(self, view: View, seen: Seen | None) -> tuple[Any, Any, float, bool, bool]:
        """MuJoCo's picture and ours, or what stands for marks, and the last three of `Row`."""
        model, data = copied(self._model, self._data)
        handle = launch_passive(model, data, viewer=False, publish_hz=ALL_STATES_HZ)
        link = attach(handle._view.name)
        reader, camera = Reader(handle._view, link), handle.cam
        try:
            set_options(handle.opt, view)
            set_camera(camera, view)
            _settle(handle, reader)
            if seen is not None:
                change(model, data, seen.name, seen.change)
            _settle(handle, reader)
            _settle(handle, reader)  # names what has no effect
            newest = reader.newest()
            drawn = State(handle._view.scene, newest.bodies, newest.vertices, newest.marks, newest.part_columns)
            said = seen is not None and f"model.{seen.name}" in handle._unsupported._reported
            is_fresh = said or bool(drawn.part_columns) or _is_fresh(drawn.scene, model, handle.opt)
        finally:
            link.close()
            handle.close()
        self._theirs._model = model  # MuJoCo keeps what it has loaded of the one before
        mujoco.mjv_updateCamera(model, data, camera, self._theirs._scene)  # see `Look.taken`
        if view.shows_all:
            return Look(model, view).taken(model, data), newest.marks.tobytes(), 1.0, said, is_fresh
        theirs, overlap = self._theirs.shown(data, camera), 1.0
        if self._has_overlap:
            overlap = agreement(self._ours.seen_state(drawn), self._theirs.seen(data, camera)).overlap
        return theirs, self._ours.picture(drawn), overlap, said, is_fresh


def _settle(handle: Any, reader: Reader) -> None:
    """Passes the present state on, and waits until it is published with all that has changed in the model."""
    handle.sync()
    reader.until(lambda: not (handle._shown.is_unfinished or handle._deferred.has_pending))


def _is_fresh(shown: Scene, model: Any, opt: Any) -> bool:
    return (
        packed_scene(shown).to_bytes()
        == packed_scene(scene(model, opt, camera=shown.camera, labels=shown.labels)).to_bytes()
    )


def _share(before: Any, now: Any) -> float:
    """Share of the pixels that differ by more than COLOR_STEPS; of anything else 1 where it differs."""
    if isinstance(before, bytes):
        return float(before != now)
    return float((np.abs(before.astype(int) - now).max(axis=-1) > COLOR_STEPS).mean())


def rows_of(found: list[Seen], has_overlap: bool = False) -> dict[str, Row | None]:
    """Rows by name of those that MuJoCo draws otherwise, made in a process of their own, and another where that ends: of the field None then."""
    rows: dict[str, Row | None] = {}
    while left := [each for each in found if each.view is not None and each.name not in rows]:
        worker = subprocess.run(
            [sys.executable, "-m", MODULE, "--rows", *(["--overlap"] if has_overlap else [])],
            input=json.dumps(left), capture_output=True, text=True, check=False, env=os.environ | {"MUJOCO_GL": "egl"},
        )  # fmt: skip
        made = [Row(*json.loads(line)) for line in worker.stdout.splitlines() if line.startswith("[")]
        rows |= {row.name: row for row in made}
        if len(made) < len(left):
            rows[left[len(made)].name] = None
            print(f"{left[len(made)].name}: {worker.stderr[-300:]}", file=sys.stderr)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--rows", action="store_true", help="rows of the fields on standard input, for the table's own use"
    )
    parser.add_argument("--fields", action="store_true", help="what MuJoCo draws otherwise, for the tests' own use")
    parser.add_argument(
        "--overlap", action="store_true", help="with the overlap of both pictures, of which some take long"
    )
    asked = parser.parse_args()
    if asked.rows:
        beside = Beside(asked.overlap)
        for each in json.load(sys.stdin):
            print(json.dumps(beside.row(Seen(*each))), flush=True)
        return
    if asked.fields:
        print(json.dumps(seen_fields()))
        return
    found = seen_fields()
    rows = rows_of(found, asked.overlap)
    print("| field | MuJoCo's picture | ours | overlap | verdict |\n|---|---:|---:|---:|---|")
    for each in found:
        row = rows.get(each.name)
        if row is not None:
            said = (", reported" if row.said else "") + ("" if row.is_fresh else ", an old scene")
            print(f"| `{row.name}` | {row.theirs:.4f} | {row.ours:.4f} | {row.overlap:.4f} | {row.verdict}{said} |")
        else:
            verdict = "ends our drawing" if each.view is not None else REFUSED if each.refused else "nothing changes"
            print(f"| `{each.name}` | | | | {verdict} |")


if __name__ == "__main__":
    main()

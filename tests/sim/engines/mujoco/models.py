"""Small models in MuJoCo's own words, and a reader of what their viewer publishes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.newest import newest
from twixt.ipc.scene import Scene
from twixt.ipc.session import Link
from twixt.ipc.snapshot import Snapshot
from twixt.sim.show.view import View

# One geom of each kind that a size alone describes; groups, colours and a site; a hinge that swings.
KINDS = """
<mujoco>
  <asset>
    <texture name="checker" type="2d" builtin="checker" rgb1="1 0 0" rgb2="0 0 1" width="8" height="8"/>
    <material name="red" rgba="1 0 0 1"/>
    <material name="checked" texture="checker"/>
    <mesh name="wedge" vertex="0 0 0  1 0 0  0 2 0  0 0 3"/>
    <hfield name="hill" nrow="3" ncol="4" size="2 1 0.5 0.1" elevation="0 0 0 0  0 1 1 0  0 0 0 0"/>
  </asset>
  <worldbody>
    <geom name="floor" type="plane" size="0 0 0.1" material="checked"/>
    <geom name="ground" type="hfield" hfield="hill" pos="5 0 0"/>
    <body name="arm" pos="0 0 2">
      <joint type="hinge" axis="0 1 0"/>
      <geom name="ball" type="sphere" size="0.1" material="red"/>
      <geom name="pill" type="capsule" size="0.05 0.2" pos="0.2 0 0" euler="0 90 0" rgba="0 1 0 1" material="red"/>
      <geom name="egg" type="ellipsoid" size="0.1 0.2 0.3" pos="0 1 0"/>
      <geom name="can" type="cylinder" size="0.1 0.2" pos="0 2 0"/>
      <geom name="box" type="box" size="0.1 0.2 0.3" pos="0 3 0" euler="10 20 30"/>
      <geom name="wedge" type="mesh" mesh="wedge" pos="0 4 0" euler="40 50 60"/>
      <geom name="hidden" type="sphere" size="0.7" group="3"/>
      <geom name="glass" type="sphere" size="0.8" rgba="1 1 1 0.1"/>
      <site name="tip" type="box" size="0.01 0.02 0.03" pos="0.4 0 0"/>
      <site name="hidden" size="0.9" group="4"/>
      <body name="hand" pos="0.4 0 0">
        <joint type="ball"/>
        <geom name="palm" type="sphere" size="0.2"/>
      </body>
    </body>
  </worldbody>
</mujoco>
"""

# Bodies that move in all ways: free, on hinges one after the other, carried by a mocap body.
MOVING = """
<mujoco>
  <option timestep="0.002"/>
  <worldbody>
    <geom type="plane" size="5 5 0.1" pos="0 0 -3"/>
    <body name="free" pos="0 0 1">
      <freejoint/>
      <geom type="box" size="0.1 0.2 0.3" pos="0.1 0 0"/>
    </body>
    <body name="upper" pos="2 0 1">
      <joint type="hinge" axis="0 1 0"/>
      <geom type="capsule" size="0.05" fromto="0 0 0 0.5 0 0"/>
      <body name="lower" pos="0.5 0 0">
        <joint type="hinge" axis="0 1 0.5"/>
        <geom type="capsule" size="0.05" fromto="0 0 0 0.5 0 0"/>
      </body>
    </body>
    <body name="target" mocap="true" pos="0 2 0"><geom type="sphere" size="0.1" contype="0" conaffinity="0"/></body>
  </worldbody>
  <keyframe>
    <key name="high" qpos="0 0 9 1 0 0 0  0.5 0.25"/>
  </keyframe>
</mujoco>
"""

# A plate that hangs by two tendons, one of them around a post, over a box that lies on the ground; what MuJoCo's
# visualizer has something for: joints, actuators, a camera, a light, a rangefinder, an equality.
HUNG = """
<mujoco>
  <option timestep="0.002"/>
  <worldbody>
    <light name="lamp" pos="0 0 4"/>
    <camera name="eye" pos="0 -3 1" euler="80 0 0"/>
    <geom name="floor" type="plane" size="5 5 0.1"/>
    <geom name="post" type="cylinder" size="0.1 0.4" pos="0.6 0 1.6" euler="90 0 0"/>
    <site name="left" pos="-0.5 0 2"/>
    <site name="right" pos="1.2 0 1.2"/>
    <site name="side" pos="0.6 0 1.9"/>
    <body name="plate" pos="0 0 1">
      <joint name="rail" type="slide" axis="0 0 1"/>
      <joint name="hinge" type="hinge" axis="0 1 0"/>
      <geom type="box" size="0.5 0.3 0.05" mass="1"/>
      <site name="plate_left" pos="-0.5 0 0"/>
      <site name="plate_right" pos="0.5 0 0"/>
      <site name="down" pos="0 0 -0.1" euler="180 0 0"/>
    </body>
    <body name="box" pos="0 0 0.1">
      <freejoint/>
      <geom name="box" type="box" size="0.2 0.2 0.1"/>
    </body>
    <body name="ball" pos="0.05 0.05 0.45">
      <freejoint/>
      <geom name="ball" type="sphere" size="0.1"/>
    </body>
  </worldbody>
  <tendon>
    <spatial name="straight" width="0.01" rgba="1 0 0 1"><site site="left"/><site site="plate_left"/></spatial>
    <spatial name="wrapped" width="0.02" group="1">
      <site site="right"/><geom geom="post" sidesite="side"/><site site="plate_right"/>
    </spatial>
  </tendon>
  <actuator><motor joint="hinge"/><motor tendon="straight"/></actuator>
  <sensor><rangefinder site="down"/></sensor>
  <equality><connect body1="plate" anchor="0 0 0" active="false"/></equality>
</mujoco>
"""

# An arm of two parts in a sleeve that both of them move, and a skin of a hidden group.
SKINNED = """
<mujoco>
  <option timestep="0.002"/>
  <asset><material name="hide" rgba="0.8 0.4 0.2 1"/></asset>
  <worldbody>
    <body name="upper" pos="0 0 2">
      <joint type="hinge" axis="0 1 0"/>
      <geom type="capsule" size="0.02" fromto="0 0 0 1 0 0"/>
      <body name="lower" pos="1 0 0">
        <joint type="hinge" axis="0 1 0"/>
        <geom type="capsule" size="0.02" fromto="0 0 0 1 0 0"/>
      </body>
    </body>
  </worldbody>
  <deformable>
    <skin name="sleeve" material="hide" vertex="0 -0.1 2  0 0.1 2  1 -0.1 2  1 0.1 2  2 -0.1 2  2 0.1 2"
          face="0 2 1  1 2 3  2 4 3  3 4 5">
      <bone body="upper" bindpos="0 0 2" bindquat="1 0 0 0" vertid="0 1 2 3" vertweight="1 1 0.5 0.5"/>
      <bone body="lower" bindpos="1 0 2" bindquat="1 0 0 0" vertid="2 3 4 5" vertweight="0.5 0.5 1 1"/>
    </skin>
    <skin name="cuff" group="4" rgba="0 0 1 1" vertex="0 0 0  1 0 0  0 1 0" face="0 1 2">
      <bone body="upper" bindpos="0 0 0" bindquat="1 0 0 0" vertid="0 1 2" vertweight="1 1 1"/>
    </skin>
  </deformable>
</mujoco>
"""

# A cloth, a cable and a solid that fall.
FLEXED = """
<mujoco>
  <option timestep="0.002"/>
  <worldbody>
    <flexcomp name="cloth" type="grid" count="4 3 1" spacing="0.1 0.1 0.1" dim="2" pos="0 0 1" rgba="1 0 0 1"
              radius="0.005" mass="0.1"><edge equality="true"/></flexcomp>
    <flexcomp name="cable" type="grid" count="4 1 1" spacing="0.1 0.1 0.1" dim="1" pos="2 0 1" radius="0.005" mass="0.1">
      <edge equality="true"/>
    </flexcomp>
    <flexcomp name="jelly" type="grid" count="3 3 3" spacing="0.1 0.1 0.1" dim="3" pos="1 0 1" rgba="0 1 0 1"
              radius="0.005" mass="0.1"><edge equality="true"/></flexcomp>
  </worldbody>
</mujoco>
"""


class Reader:
    """What a viewer of `view` receives."""

    def __init__(self, view: View, link: Link) -> None:
        self._view, self._link = view, link

    def newest(self) -> Snapshot:
        """The snapshot published last; waits for the first."""
        return newest(self._link, lambda snapshot: snapshot.tick == self._view._now.tick - 1)

    def of_time(self, time_s: float) -> Snapshot:
        """The snapshot of that simulated time, also one that was put aside first; waits for it."""
        wanted_ns = round(time_s * 1e9)
        newest(self._link, lambda snapshot: snapshot.sim_time_ns == wanted_ns)
        return self.newest()

    def until_tick(self, tick: int) -> Snapshot:
        """The first snapshot received that is as new as `tick`."""
        newest(self._link, lambda snapshot: snapshot.tick >= tick)
        return self.newest()

    def until(self, is_so: Callable[[], bool]) -> None:
        """Waits for snapshots until `is_so`."""
        for _ in range(600):
            self._link.poll()
            if is_so():
                return
            self._link.wait(0.05)
        raise AssertionError("it never came")

    def scene(self) -> Scene:
        """The scene published last."""
        return self._view.scene


# Makes a handle of a model without a window, and a reader of it: see the fixture `launch`.
Launch = Callable[..., tuple[Any, Reader]]


def pile_xml(count: int = 1000, radius: float = 0.05) -> str:
    """Touching spheres in a box without a lid, as they lie after a fall: layers, each in the hollows of the one below."""
    side = round((count / 2) ** (1 / 3) * 1.26)
    step, rise = 2 * radius, radius * 2**0.5
    half = (side + 0.5) * radius
    bodies = []
    for number in range(count):
        layer, row, column = number // side**2, number // side % side, number % side
        shift = radius * (layer % 2) - radius / 2
        x, y = (column - (side - 1) / 2) * step + shift, (row - (side - 1) / 2) * step + shift
        place = f"{x:.4f} {y:.4f} {radius + layer * rise:.4f}"
        bodies.append(f'<body pos="{place}"><freejoint/><geom size="{radius}" rgba="0.9 0.6 0.2 1"/></body>')
    walls = "".join(
        f'<geom type="plane" size="{half} {half} 1" pos="{x * half} {y * half} {half}" zaxis="{-x} {-y} 0" rgba="1 1 1 0"/>'
        for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1))
    )
    return (
        '<mujoco><option timestep="0.002" iterations="3"/><size memory="1G"/>'
        f'<worldbody><geom type="plane" size="2 2 0.1"/>{walls}{"".join(bodies)}</worldbody></mujoco>'
    )

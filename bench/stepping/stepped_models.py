"""Models that `python -m bench mujoco` steps, in MuJoCo's own words: humanoids, free spheres, mocap bodies.

Always: the same text at each call. A humanoid has 14 bodies, 21 hinges and a free joint, and falls on a plane.
"""

from __future__ import annotations

from collections.abc import Iterator

HEAD = """<mujoco>
  <option timestep="0.003" integrator="{integrator}"/>
  <size memory="{memory}"/>
  <default>
    <geom type="capsule" rgba="0.8 0.6 0.4 1" condim="3" friction="0.7 0.1 0.1"/>
    <joint type="hinge" damping="5" stiffness="10" armature="0.01" limited="true" range="-60 60"/>
  </default>
  <worldbody>
    <light pos="0 0 10" dir="0 0 -1"/>
    <geom type="plane" size="40 40 1" rgba="0.6 0.7 0.6 1"/>
{bodies}
  </worldbody>
</mujoco>
"""
# Distance between humanoids, and between spheres, metres; spheres of radius 0.1 never touch.
STRIDE_M, GRID_M = 3.0, 0.5


def humanoids_xml(count: int = 1) -> str:
    """Humanoids side by side. One takes as long to step as gymnasium's, which has the same integrator."""
    return _model("".join(_humanoid(STRIDE_M * number) for number in range(count)), integrator="RK4")


def spheres_xml(count: int) -> str:
    """Free spheres on a grid, far from each other and from the ground."""
    return _model("".join(f'<body pos="{place}"><freejoint/><geom type="sphere" size="0.1"/></body>\n'
                          for place in _grid(count)), memory="500M")  # fmt: skip


def mocap_xml(count: int) -> str:
    """Mocap bodies on a grid."""
    return _model("".join(f'<body mocap="true" pos="{place}"><geom type="sphere" size="0.1" contype="0" '
                          'conaffinity="0"/></body>\n' for place in _grid(count)), memory="1G")  # fmt: skip


def _model(bodies: str, memory: str = "100M", integrator: str = "Euler") -> str:
    return HEAD.format(bodies=bodies, memory=memory, integrator=integrator)


def _grid(count: int) -> Iterator[str]:
    side = 1
    while side**3 < count:
        side += 1
    for number in range(count):
        x, y, z = number % side, number // side % side, number // side**2
        yield f"{x * GRID_M:g} {y * GRID_M:g} {z * GRID_M + 20:g}"


def _humanoid(y: float) -> str:
    limbs = "".join(_leg(side) + _arm(side) for side in (-1, 1))
    return f"""
<body pos="0 {y:g} 1.4"><freejoint/>
  <geom fromto="0 -.07 0 0 .07 0" size=".07"/><geom type="sphere" pos="0 0 .19" size=".09"/>
  <geom fromto="-.01 -.06 -.12 -.01 .06 -.12" size=".06"/>
  <body pos="-.01 0 -.26">{_hinges("0 0 1", "0 1 0")}
    <geom fromto="0 -.06 0 0 .06 0" size=".06"/>
    <body pos="0 0 -.165">{_hinges("1 0 0")}<geom fromto="-.02 -.07 0 -.02 .07 0" size=".09"/></body>
  </body>{limbs}
</body>"""


def _leg(side: int) -> str:
    return f"""
  <body pos="0 {0.1 * side:g} -.46">{_hinges("1 0 0", "0 0 1", "0 1 0")}
    <geom fromto="0 0 0 0 0 -.34" size=".06"/>
    <body pos="0 0 -.403">{_hinges("0 1 0")}<geom fromto="0 0 0 0 0 -.3" size=".049"/>
      <body pos="0 0 -.39">{_hinges("0 1 0")}<geom fromto="-.07 0 0 .14 0 0" size=".027"/></body>
    </body>
  </body>"""


def _arm(side: int) -> str:
    return f"""
  <body pos="0 {0.17 * side:g} .06">{_hinges("2 1 1", "0 -1 1")}
    <geom fromto="0 0 0 .16 {0.16 * side:g} -.16" size=".04"/>
    <body pos=".18 {0.18 * side:g} -.18">{_hinges("0 -1 1")}
      <geom fromto="0 0 0 .17 {-0.17 * side:g} .17" size=".031"/>
    </body>
  </body>"""


def _hinges(*axes: str) -> str:
    return "".join(f'<joint axis="{axis}"/>' for axis in axes)

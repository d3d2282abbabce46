"""Variants of the programs of bodies, and the format of the rows whose pose is drawn as it stands.

The one idea: a choice that is the same for all bodies of a draw call is made when a program is compiled: software
drawing executes both sides of every branch.
"""

from __future__ import annotations

from typing import NamedTuple

from twixt.render.draw.glsl.light import NO_FINISH

# Format of a row whose pose is drawn as it stands, see `GIVEN`; scale: half extents, metres.
GIVEN_FORMAT, GIVEN_ATTRIBUTES = (
    "3f 4f 3f 4f1 /v",
    ("given_position", "given_orientation", "given_scale", "given_color"),
)

METHODS = ("none", "linear", "hermite", "auto")
# Kinds of motion, each a program of its own: none and linear; hermite and auto.
POSE_VARIANTS = ("linear", "curved")
# In place of one of them: no snapshots are read, a row's pose is an input.
GIVEN = "given"


class PoseVariant(NamedTuple):
    """Variant of the pose program. motion: one of POSE_VARIANTS, or GIVEN. stretched: bodies have a scale along each axis.

    wide: spheres are seen as ellipses, see sphere_common.py. parallel: the camera is orthographic. outlined: bodies have
    a darker outline. placed: each row is a part at a pose in its body's frame. scaled_parts: with `stretched`, the scales
    are of parts, along their own axes. transparent: draws what is seen through,
    and nothing else. sampled: alpha is the share of a pixel's samples that the body covers, not an opacity. finish: how
    materials are drawn, see light.py.
    """

    motion: str = "linear"
    stretched: bool = False
    wide: bool = False
    parallel: bool = False
    outlined: bool = False
    placed: bool = False
    transparent: bool = False
    sampled: bool = False
    finish: int = NO_FINISH
    scaled_parts: bool = False

"""Visual geoms that a user's `mjvOption` asks MuJoCo for, beyond those that bodies show already.

The one idea: MuJoCo's visualizer is called with options of our own, made from the user's: without geoms, sites, skins
and flexes, which are bodies here, and contacts in a call of their own, so that they are known by their place. Nothing
is called where neither the options nor the model have anything for it.

Always: the user's options are only read, by comparing their bytes; options of our own change only when those do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from twixt.sim.engines.mujoco.mujoco_package import mujoco
from twixt.sim.engines.mujoco.visual.geom_memory import option_bytes
from twixt.sim.engines.mujoco.visual.label_texts import is_shown

if TYPE_CHECKING:
    from mujoco import MjModel, MjvOption

GROUPS = ("geomgroup", "sitegroup", "jointgroup", "tendongroup", "actuatorgroup", "flexgroup", "skingroup")
# Flags of contacts, and those that change how they look.
CONTACT_FLAGS = ("CONTACTPOINT", "CONTACTFORCE")
LOOK_FLAGS = ("STATIC", "CONTACTSPLIT", "ISLAND")
# Shown by bodies, or not at all: never asked of MuJoCo's visualizer.
BODY_FLAGS = ("SKIN", "FLEXVERT", "FLEXEDGE", "FLEXFACE", "FLEXSKIN")
# Flags that show what a body was selected or pulled by.
PERTURB_FLAGS = ("PERTOBJ", "SELECT")
# Flags with which the bounds of geoms are shown; their groups count then.
BOUND_FLAGS = ("BODYBVH", "MESHBVH", "SDFITER")


class AskedGeoms:
    """What one `mjvOption` asks for in one model. decor, contacts: options of our own for two calls of MuJoCo's.

    has_decor, has_contacts: True if the call is needed. has_perturbed: True if it is as soon as a body is selected.
    """

    def __init__(self, model: MjModel, opt: MjvOption) -> None:
        self.decor, self.contacts = mujoco.MjvOption(), mujoco.MjvOption()
        self.has_decor = self.has_contacts = self.has_perturbed = False
        self._opt, self._bytes, self._seen = opt, option_bytes(opt), b""
        sensors = model.sensor_type.tolist()
        self._has_slider_cranks = int(mujoco.mjtTrn.mjTRN_SLIDERCRANK) in model.actuator_trntype.tolist()
        self._has_plugins = bool(model.nplugin)
        kinds = mujoco.mjtSensor
        counts = {
            "TENDON": int(mujoco.mjtWrap.mjWRAP_SITE) in model.wrap_type.tolist(),  # fixed ones have no path
            "JOINT": model.njnt,
            "ACTUATOR": model.nu,
            "CAMERA": model.ncam,
            "LIGHT": model.nlight,
            "CONSTRAINT": model.neq,
            "RANGEFINDER": not {int(kinds.mjSENS_RANGEFINDER), int(kinds.mjSENS_GEOMFROMTO)}.isdisjoint(sensors),
        }
        self._always = ("INERTIA", "PERTFORCE", "AUTOCONNECT", "COM", *BOUND_FLAGS)
        self._flags = [name for name, count in counts.items() if count] + list(self._always)

    def is_changed(self) -> bool:
        """Compares the user's options with those seen last, and reads them if they differ: True then."""
        now = self._bytes.tobytes()
        if now == self._seen:
            return False
        self._seen = now
        self._read()
        return True

    def _read(self) -> None:
        opt, frames = self._opt, mujoco.mjtFrame
        frame, flags = int(opt.frame), opt.flags
        on = {name for name in (*self._flags, *CONTACT_FLAGS, *PERTURB_FLAGS) if flags[_flag(name)]}
        has_contact_frames = frame == int(frames.mjFRAME_CONTACT)
        self.has_contacts = has_contact_frames or not on.isdisjoint(CONTACT_FLAGS)
        has_frames = not has_contact_frames and frame != int(frames.mjFRAME_NONE)
        label = int(opt.label) if is_shown(int(opt.label)) else 0
        self.has_decor = (
            label != 0 or has_frames or self._has_slider_cranks or self._has_plugins or not on.isdisjoint(self._flags)
        )
        self.has_perturbed = not on.isdisjoint(PERTURB_FLAGS)

        decor, contacts = self.decor, self.contacts
        bounds = on.intersection(BOUND_FLAGS)
        shown = {"jointgroup", "tendongroup", "actuatorgroup"}
        if bounds:
            shown |= {"geomgroup", "flexgroup"}
        shown |= {frames.mjFRAME_GEOM: {"geomgroup"}, frames.mjFRAME_SITE: {"sitegroup"}}.get(
            _member(frames, frame), set()
        )
        labels = mujoco.mjtLabel
        shown |= {labels.mjLABEL_GEOM: {"geomgroup"}, labels.mjLABEL_SITE: {"sitegroup"}}.get(
            _member(labels, label), set()
        )
        for name in GROUPS:
            getattr(decor, name)[:] = getattr(opt, name) if name in shown else 0
            getattr(contacts, name)[:] = 0
        decor.flags[:], contacts.flags[:] = flags, 0
        for name in (*CONTACT_FLAGS, *BODY_FLAGS):
            decor.flags[_flag(name)] = 0
        for name in (*CONTACT_FLAGS, *LOOK_FLAGS):
            contacts.flags[_flag(name)] = flags[_flag(name)]
        decor.frame = 0 if has_contact_frames else frame
        decor.label = label
        contacts.frame = frame if has_contact_frames else 0
        decor.bvh_depth, decor.flex_layer = opt.bvh_depth, opt.flex_layer


def _flag(name: str) -> int:
    return int(getattr(mujoco.mjtVisFlag, f"mjVIS_{name}"))


def _member(enum: Any, number: int) -> Any:
    return next((member for member in enum.__members__.values() if int(member) == number), None)

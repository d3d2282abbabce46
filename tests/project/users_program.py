"""A program of a user that uses each public name of twixt. The tests run it, and check it with `mypy --strict`."""

from dataclasses import dataclass
from typing import Unpack

import numpy as np
import numpy.typing as npt

import twixt
import twixt.mujoco_viewer
from twixt import mujoco_viewer

Floats = npt.NDArray[np.float64]
UP = np.array((0.0, 0.0, 1.0))


class Orbit(twixt.World):
    """Beads on a ring, with a column, marks, a deforming sheet and a slider."""

    dt = 1 / 60

    def __init__(self, count: int = 8, seed: int = 0) -> None:
        sheet = twixt.Mesh([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 1, 2)], deforms=True)
        shapes: list[twixt.Shape] = [twixt.Sphere(radius=0.1)] * count
        self.scene = twixt.Scene(
            [*shapes, sheet],
            camera=twixt.Camera(eye=(6, 4, 3), target=(0, 0, 0), fov_y_deg=45),
            groups={"late": twixt.Group([0], interpolation="linear", delay_ms=20)},
            color_by=twixt.ColorBy("heat", low=0, high=1),
        )
        self.bodies = twixt.Bodies(count + 1, columns={"heat": twixt.Column("f4")})
        self.marks = twixt.Marks()
        self.surfaces = twixt.Surfaces(self.scene)
        self.speed = twixt.Slider("speed", 1.0, 0, 5)
        self.controls = [self.speed, twixt.Toggle("gravity", True), twixt.Button("kick")]
        self.count = count
        self.phase = np.linspace(0, 2 * np.pi, count, endpoint=False)

    def step(self, dt: float) -> None:
        self.phase += self.speed.value * dt
        self.bodies.position[: self.count, 0] = np.cos(self.phase)
        self.bodies.position[: self.count, 1] = np.sin(self.phase)
        self.bodies.columns["heat"][: self.count] = np.abs(np.sin(self.phase))
        self.surfaces[self.count][:, 2] += dt
        self.bodies.teleport(0, (0, 0, 1))
        self.plot("phase", first=self.phase[0])
        self.marks.clear()
        self.marks.add("arrow", self.bodies.position, to=self.bodies.position + UP, size=0.02)
        self.emit("turn", body=0, position=self.bodies.position[0], strength=2.0, values=(1, 2), text="first")
        self.emit_many("beads", body=np.arange(self.count), position=self.bodies.position[: self.count], at=0.0)

    def on_key(self, event: twixt.UserEvent) -> None:
        if event.key_name == "left" and event.action == "press":
            self.speed.value = 0.0


def shapes() -> list[twixt.Part]:
    """One part of each shape."""
    striped = twixt.Material(texture=twixt.Texture.checker(), roughness=0.3)
    return [
        twixt.Part(twixt.Box((1, 0.2, 0.2), material=striped)),
        twixt.Part(twixt.Sphere(0.3), position=(0.5, 0, 0)),
        twixt.Part(twixt.Plane((2, 2))),
        twixt.Part(twixt.Capsule(0.2, 1)),
        twixt.Part(twixt.Cylinder(0.2, 1)),
        twixt.Part(twixt.Ellipsoid((1, 2, 3)), position=(0, 0, 1), orientation=(1, 0, 0, 0), quat="wxyz"),
    ]


def scene_of_arrays(points: Floats) -> twixt.Scene:
    """A scene whose vectors and colours are numpy arrays. points: (4, 3), metres."""
    red = np.array((1.0, 0.0, 0.0))
    camera = twixt.Camera(eye=points[0], target=points[1], up=UP, principal_point=np.zeros(2))
    part = twixt.Part(twixt.Box(points[2], red), position=points[3], orientation=twixt.turn_towards(points[3]))
    turned = twixt.Part(twixt.Capsule(), orientation=twixt.rotation(UP, 0.5))
    mesh = twixt.Mesh(points, np.array([(0, 1, 2)]), color=np.array((255, 0, 0), np.uint8))
    sky = twixt.Texture.gradient(red, np.zeros(3))
    plane = twixt.Plane(points[2, :2], material=twixt.Material(sky, points[2, :2]))
    scene = twixt.Scene(
        [twixt.Compound([part, turned]), mesh, plane, twixt.Ellipsoid(points[2]), twixt.Sphere(color=red)],
        camera=camera,
        outline=(points[0], (0, 0, 0)),
        background=red,
        light=points[2],
        groups={"first": twixt.Group(np.arange(2))},
        color_by=twixt.ColorBy("heat", low_color=red),
    )
    eye: tuple[float, float, float] = camera.eye
    size: tuple[float, float, float] = twixt.Box(points[2]).size
    assert (eye, size, scene.light) == tuple(tuple(points[row].tolist()) for row in (0, 2, 2))
    return scene


def draw(frame: twixt.DrawFrame) -> None:
    """For `--draw users_program:draw`."""
    seconds: float = frame.draw_time_ns / 1e9 + frame.interval_ns / 1e9
    newest: twixt.Snapshot = frame.previous if frame.next is None else frame.next
    frame.points(frame.poses.position, color=(1, 0.8, 0.2), size_px=4)
    frame.line((0, 0, 0), frame.poses.position[0])
    frame.label((0, 0, 1), f"{seconds:.2f} {newest.sim_time_ns} {frame.alpha:.1f}")


@dataclass
class Sampled:
    """The poses that `Latest` returns."""

    position: Floats
    orientation: Floats


class Latest:
    """For `--interpolation users_program:Latest`."""

    def __init__(self) -> None:
        self.snapshot: twixt.Snapshot | None = None

    def add(self, snapshot: twixt.Snapshot) -> None:
        self.snapshot = snapshot

    def sample(self, draw_time_ns: int) -> Sampled:
        assert self.snapshot is not None
        bodies = self.snapshot.bodies
        return Sampled(bodies["position"], bodies["orientation"])

    def reset(self) -> None:
        self.snapshot = None


def on_event(event: twixt.Event) -> None:
    """For `--on-event users_program:on_event`."""
    place = event.position or (0.0, 0.0, 0.0)
    seconds: float = event.sim_time + event.late_ms / 1e3
    print(event.name, event.body, place[2], event.strength, sum(event.values), event.text, seconds)


drawing: twixt.DrawFunction = draw
event_function: twixt.EventFunction = on_event
method: twixt.InterpolationMethod = Latest()


def advance(state: Floats, forces: dict[int, tuple[Floats, Floats]], gravity: float) -> Floats:
    """The next state of the loop, (n, 3), metres."""
    pushed = state - 1e-3 * gravity * UP
    for body, (force, _torque) in forces.items():
        pushed[body] += 1e-3 * force
    return pushed


def loop(**options: Unpack[twixt.ViewerOptions]) -> twixt.View:
    """A loop of its own, with all that a view offers."""
    compound = twixt.Compound(shapes())
    scene = twixt.Scene([compound, twixt.Sphere()], background=twixt.Texture.gradient((0, 0, 0.2), (0, 0, 0)))
    state: Floats = np.zeros((2, 3))
    with twixt.show(scene, rate_hz=500, columns={"heat": twixt.Column("f4")}, **options) as view:
        gravity = view.slider("gravity", 9.81, 0, 20)
        is_paused, kick = view.toggle("paused"), view.button("kick")
        view.set_texts([twixt.OverlayText("top left", "time", "0 s")])
        view.set_images([twixt.OverlayImage((0, 0, 2, 2), np.zeros((2, 2, 3), np.uint8))])
        line = twixt.OverlayLine([(0, 0), (1, 1)], "energy")
        view.set_figures([twixt.OverlayFigure((0, 0, 200, 100), [line], title="energy")])
        turns = np.stack([twixt.rotation((0, 0, 1), 0.1), twixt.turn_towards((1, 1, 0))])
        goal = view.draggable(0, position=(0, 0, 1))
        for step, t in enumerate(view.real_time(1e-3)):
            if step == 3 or is_paused.value or view.keys.held("left") or view.keys.pressed("space"):
                break
            if kick.pressed():
                state[:, 2] += 1
            state = advance(state, view.forces(), gravity.value)
            view.emit("step", body=1, at=t)
            view.emit_many("kicked", body=[0, 1], strength=np.ones(2))
            view.publish(
                position=[goal.position, state[1]],
                orientation=turns,
                color=[(1, 0, 0), (0, 1, 0)],
                columns={"heat": [0.0, 1.0]},
                cut=[step == 0] * 2,
            )
            view.plot("height", t, first=state[0, 2], second=state[1, 2])
            for event in view.events():
                handle(event)
        view.camera = twixt.Camera((6, 4, 3), locked=True)
        view.screenshot("end.png", overlay=True)
    return view


def handle(event: twixt.UserEvent) -> str:
    """What the user did, as text."""
    if event.name == "click" and event.body is not None:
        return f"body {event.body} at {event.point}"
    return f"{event.key} {event.action} at {event.acted_ns / 1e9:.3f} s"


def refused() -> str:
    """The error of a camera that cannot be used."""
    try:
        twixt.Camera((0, 0, 0), (0, 0, 0))
    except twixt.TwixtError as error:
        return str(error)
    return ""


def step_model(path: str, **options: Unpack[twixt.ViewerOptions]) -> None:
    """A loop with MuJoCo's own viewer replaced."""
    import mujoco

    model = mujoco.MjModel.from_xml_string(path)
    data = mujoco.MjData(model)
    with mujoco_viewer.launch_passive(model, data, **options) as viewer:
        if viewer.is_running():
            mujoco.mj_step(model, data)
            viewer.emit("stepped", body=0, strength=data.time)
            viewer.emit_many("bodies", body=np.arange(model.nbody))
            viewer.sync()
    with mujoco_viewer.launch_passive(model, data, viewer=False, events="contacts") as viewer:
        viewer.sync()
    with twixt.show(twixt.mujoco_viewer.scene(model), viewer=False, camera="still") as view:
        twixt.mujoco_viewer.publish(view, data)


def run() -> None:
    """The world and the loop, without a viewer."""
    twixt.freeze_support()
    Orbit().step(1 / 60)
    assert not loop(viewer=False).is_open
    assert "must differ" in refused()
    assert len(scene_of_arrays(1.0 + np.arange(12.0).reshape(4, 3)).shapes) == 5
    step_model("<mujoco/>", viewer=False)
    assert twixt.main(["--version"]) == 0


if __name__ == "__main__":
    run()

"""Records the moving picture of README: `python -m bench movie docs/twixt.webp`.

It is a real recording. `twixt run` draws a world in a split view on an Xvfb, whose pixels are a file. Each picture that
the window shows is taken, with the instant at which it appeared. The movie shows each for as long as the window did.
The world's state repeats after `LOOP_S`, so the movie has no seam.

Always: if the recording missed or repeated a picture, TwixtError is raised and no file is written.
"""

from __future__ import annotations

import time
from itertools import pairwise

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from bench.pages import Results
from bench.processes import HERE, process
from bench.screens import mapped_screen
from bench.view.observer import open_screen
from bench.view.pixels import Pixels
from twixt import Bodies, Box, Camera, Scene, Sphere
from twixt.cli.progress import progress
from twixt.ipc.errors import FINISHED, TwixtError
from twixt.sim.process.viewer_command import twixt_command
from twixt.sim.reproducible_math import sin_cos
from twixt.sim.world.world import FormulaWorld

PHYSICS_HZ, FPS, LOOP_S, WARM_UP_S = 8, 30, 6, 4.0
CIRCLE_S, BOUNCE_S, TURN_S = 2.0, 1.2, 3.0  # periods; LOOP_S is a multiple of each, and no bounce is at a step
WINDOW_PX, TOP_PX, MOVIE_WIDTH_PX = (1440, 610), 44, 840  # the top has the view's own labels, which are left out
CAPTIONS = (f"newest state of physics: {PHYSICS_HZ} steps a second", f"twixt: the same {PHYSICS_HZ} steps a second")
CAPTION_PX, FONT_PX = 40, 17
BACKGROUND, INK, LINE = (43, 46, 50), (225, 228, 232), (0, 0, 0)
POLL_S = 0.002
# A picture that appears later than this many ms after its planned instant spoils the recording.
MOST_LATE_MS = 8.0
QUALITY = 82  # of the lossy WebP pictures, 0..100


class Movie(FormulaWorld):
    """A ball on a circle, a ball that bounces, and a cube that turns."""

    dt = 1 / PHYSICS_HZ

    def __init__(self) -> None:
        self.bodies = Bodies(4)
        shapes = [
            Sphere(0.26, (0.97, 0.62, 0.27)),
            Sphere(0.26, (0.38, 0.66, 0.95)),
            Box((0.8,) * 3, (0.47, 0.78, 0.62)),
        ]
        self.scene = Scene(
            [*shapes, Box((3.9, 0.9, 0.08), (0.34, 0.36, 0.40))],
            camera=Camera(eye=(0.0, -20.0, 3.4), target=(0.0, 0.0, 1.45), fov_y_deg=5.6),
            ground_z=None,
            pattern=True,
        )
        self.bodies.velocity[:] = 0.0
        self.bodies.angular_velocity[:] = 0.0
        self.reset(0)

    def write(self) -> None:
        z, x = sin_cos(self.time_s / CIRCLE_S)
        speed, gravity, since_s = 1.2 * 2 * np.pi / CIRCLE_S, 9.81, (self.time_s + 0.04) % BOUNCE_S
        thrown = gravity * BOUNCE_S / 2
        self.bodies.position[:] = [
            (-0.6 + 1.2 * x, 0, 1.55 + 1.2 * z),
            (1.5, 0, 0.26 + thrown * since_s - gravity * since_s**2 / 2),
            (-0.6, 0, 1.55),
            (0, 0, -0.04),
        ]
        self.bodies.velocity[:2] = [(-speed * z, 0, speed * x), (0, 0, thrown - gravity * since_s)]
        half = sin_cos(self.time_s / TURN_S / 2)
        self.bodies.orientation[2] = (0, 0, half.sin, half.cos)
        self.bodies.angular_velocity[2] = (0, 0, 2 * np.pi / TURN_S)


def run(results: Results, movie: str) -> int:
    """Records the movie and writes the file. Raises TwixtError."""
    world = f"{__name__}:{Movie.__name__}"
    flags = ["--split", "none,auto", "--trails", "--no-overlay", "--fps", f"{FPS}", "--quality", "high"]
    size = ["--size", "x".join(map(str, WINDOW_PX)), "--seconds", f"{WARM_UP_S + LOOP_S + 5}"]
    with progress() as say, mapped_screen(WINDOW_PX) as shown:
        say("recording")
        with process([*twixt_command("run", world), *flags, *size], shown.environ, cwd=HERE):
            instants_s, pictures = _recorded(open_screen(shown.pixels_file))
        late_ms = max(abs(1e3 * (b - a) - 1e3 / FPS) for a, b in pairwise(instants_s))
        print(f"{len(pictures)} pictures; largest deviation of an interval from {1e3 / FPS:.1f} ms: {late_ms:.1f} ms")
        if late_ms > MOST_LATE_MS:
            raise TwixtError("the recording missed a picture or was late; repeat it when the machine is idle")
        say("writing")
        _write(pictures, [round(1e3 * (at_s - instants_s[0])) for at_s in instants_s], movie)
    return FINISHED


def _recorded(screen: Pixels) -> tuple[list[float], list[Pixels]]:
    """Pictures of one loop, and their instants in seconds; after the last, the instant at which the next appeared. A
    picture counts when two reads in a row are equal, because a read may catch a picture that is half copied."""
    instants_s: list[float] = []
    pictures: list[Pixels] = []
    last = candidate = screen.copy()
    candidate_s = next_s = begin_s = time.perf_counter()
    while len(instants_s) <= FPS * LOOP_S:
        if (now_s := time.perf_counter()) - begin_s > WARM_UP_S + LOOP_S + 10:
            raise TwixtError("the window showed too few pictures; repeat it when the machine is idle")
        if not np.array_equal(screen, candidate):
            candidate, candidate_s = screen.copy(), now_s
        elif candidate is not last:
            last = candidate
            if now_s - begin_s > WARM_UP_S:
                instants_s.append(candidate_s)
                pictures.append(candidate)
        next_s = max(next_s + POLL_S, now_s)
        time.sleep(max(0.0, next_s - time.perf_counter()))
    return instants_s, pictures[:-1]


def _write(pictures: list[Pixels], instants_ms: list[int], path: str) -> None:
    frames = [_frame(picture) for picture in pictures]
    durations = [after - at for at, after in pairwise(instants_ms)]
    try:
        frames[0].save(
            path, save_all=True, append_images=frames[1:], duration=durations, loop=0, quality=QUALITY, method=6,
            minimize_size=True,
        )  # fmt: skip
    except OSError as error:
        raise TwixtError(f"cannot write {path!r}: {error.strerror}") from None


def _frame(pixels: Pixels) -> Image.Image:
    """Picture of the movie: the window's, smaller, with the captions below it."""
    height, width = pixels.shape
    window = Image.fromarray(pixels.view(np.uint8).reshape(height, width, 4)[TOP_PX:, :, 2::-1].copy())
    height_px = round(window.height * MOVIE_WIDTH_PX / window.width)
    frame = Image.new("RGB", (MOVIE_WIDTH_PX, height_px + CAPTION_PX), BACKGROUND)
    frame.paste(window.resize((MOVIE_WIDTH_PX, height_px), Image.Resampling.LANCZOS))
    draw, font = ImageDraw.Draw(frame), ImageFont.load_default(FONT_PX)
    middle = MOVIE_WIDTH_PX // 2
    draw.line((middle, height_px, middle, frame.height), LINE, 2)
    for text, x in zip(CAPTIONS, (middle // 2, middle + middle // 2), strict=True):
        draw.text((x, height_px + CAPTION_PX // 2 - 3), text, INK, font, anchor="mm")
    return frame

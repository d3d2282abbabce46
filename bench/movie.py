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
from twixt.ipc.config.files import check_file
from twixt.ipc.errors import FINISHED, TwixtError
from twixt.ipc.scene import Box, Camera, Scene, Sphere
from twixt.sim.process.viewer_command import twixt_command
from twixt.sim.reproducible_math import sin_cos
from twixt.sim.world.bodies import Bodies
from twixt.sim.world.world import FormulaWorld

PHYSICS_HZ, FPS, LOOP_S, WARM_UP_S = 8, 30, 6, 4.0
CIRCLE_S, BOUNCE_S, TURN_S = 2.0, 1.2, 3.0  # periods of the three bodies; LOOP_S is a multiple of each
CIRCLE_M, RADIUS_M, GRAVITY_M_S2 = 1.2, 0.26, 9.81
WINDOW_PX, MOVIE_WIDTH_PX = (1080, 490), 840
TOP_PX, CAPTION_PX = 32, 30  # cut off: the view's own labels; distance of the captions from the lower edge
CAPTIONS = (f"newest state, physics at {PHYSICS_HZ} Hz", f"twixt, the same physics at {PHYSICS_HZ} Hz")
FONT_PX, INK = 17, (225, 228, 232)
POLL_S = 0.002
# A frame interval that is off by more than this, in ms, is a missed or repeated picture.
MOST_OFF_MS = 8.0
QUALITY = 90  # of the lossy pictures, 0..100


class Movie(FormulaWorld):
    """A ball on a circle, a ball that bounces, and a cube that turns."""

    dt = 1 / PHYSICS_HZ

    def __init__(self) -> None:
        self.bodies = Bodies(4)
        self.bodies.velocity[:] = self.bodies.angular_velocity[:] = 0.0
        balls = [Sphere(RADIUS_M, color) for color in ((0.97, 0.62, 0.27), (0.38, 0.66, 0.95))]
        boxes = [Box((0.8, 0.8, 0.8), (0.47, 0.78, 0.62)), Box((3.9, 0.9, 0.08), (0.34, 0.36, 0.40))]
        camera = Camera(eye=(0.0, -20.0, 3.4), target=(0.0, 0.0, 1.33), fov_y_deg=6.0)
        self.scene = Scene([*balls, *boxes], camera=camera, ground_z=None, pattern=True)
        self.reset(0)

    def write(self) -> None:
        z, x = (CIRCLE_M * part for part in sin_cos(self.time_s / CIRCLE_S))
        since_s, thrown_m_s = (self.time_s + 0.04) % BOUNCE_S, GRAVITY_M_S2 * BOUNCE_S / 2
        height_m = RADIUS_M + thrown_m_s * since_s - GRAVITY_M_S2 * since_s**2 / 2
        half, turn = sin_cos(self.time_s / TURN_S / 2), 2 * np.pi / CIRCLE_S
        self.bodies.position[:] = [(x - 0.6, 0, z + 1.55), (1.5, 0, height_m), (-0.6, 0, 1.55), (0, 0, -0.04)]
        self.bodies.velocity[:2] = [(-turn * z, 0, turn * x), (0, 0, thrown_m_s - GRAVITY_M_S2 * since_s)]
        self.bodies.orientation[2] = (0, 0, half.sin, half.cos)
        self.bodies.angular_velocity[2] = (0, 0, 2 * np.pi / TURN_S)


def run(results: Results, movie: str) -> int:
    """Records the movie, writes the file `movie` and prints how even the recording was. Raises TwixtError."""
    check_file("the movie", movie)
    flags = f"--split none,auto --trails --no-overlay --fps {FPS} --size {WINDOW_PX[0]}x{WINDOW_PX[1]}".split()
    command = [*twixt_command("run", f"{__name__}:{Movie.__name__}"), *flags, "--seconds", str(WARM_UP_S + 3 * LOOP_S)]
    with mapped_screen(WINDOW_PX) as shown, process(command, shown.environ, cwd=HERE):
        instants_s, pictures = recorded(open_screen(shown.pixels_file))
    off_ms = max(abs(after - at - 1 / FPS) for at, after in pairwise(instants_s)) * 1e3
    print(f"{len(pictures)} pictures, each shown for {1e3 / FPS:.1f} ms; largest deviation {off_ms:.1f} ms")
    if off_ms > MOST_OFF_MS:
        raise TwixtError("the recording missed or repeated a picture; record again when no other program is busy")
    instants_ms = [round(1e3 * (at_s - instants_s[0])) for at_s in instants_s]
    first, *others = map(frame, pictures)
    durations = [after - at for at, after in pairwise(instants_ms)]
    first.save(
        movie, save_all=True, append_images=others, duration=durations, loop=0, quality=QUALITY, minimize_size=True
    )
    return FINISHED


def recorded(screen: Pixels) -> tuple[list[float], list[Pixels]]:
    """Pictures of one loop, and the instants in seconds at which they and the next one appeared. A picture counts when
    two reads in a row are equal, because a read may catch a picture that is half copied."""
    instants_s: list[float] = []
    pictures: list[Pixels] = []
    last = candidate = screen.copy()
    candidate_s = next_s = begin_s = time.perf_counter()
    while len(instants_s) <= FPS * LOOP_S:
        now_s = time.perf_counter()
        if now_s - begin_s > WARM_UP_S + 2 * LOOP_S:
            raise TwixtError("the window showed too few pictures; record again when no other program is busy")
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


def frame(pixels: Pixels) -> Image.Image:
    """Picture of the movie: the window's, smaller, with captions."""
    window = Image.fromarray(pixels.view(np.uint8).reshape(*pixels.shape, 4)[TOP_PX:, :, 2::-1].copy())
    size = (MOVIE_WIDTH_PX, round(window.height * MOVIE_WIDTH_PX / window.width))
    made = window.resize(size, Image.Resampling.LANCZOS)
    draw, font = ImageDraw.Draw(made), ImageFont.load_default(FONT_PX)
    for text, quarter in zip(CAPTIONS, (1, 3), strict=True):
        draw.text((made.width * quarter // 4, made.height - CAPTION_PX), text, INK, font, anchor="mm")
    return made

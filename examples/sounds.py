"""A short sound for each event: the stronger, the louder and the higher. Balls that bounce show it.

Run it with: twixt run sounds:Bouncing --on-event sounds:play

Sounds need `pip install pygame-ce`. It mixes them in C, beside Python's lock, and its wheels for Linux, macOS and
Windows contain all they need (miniaudio mixes in Python, sounddevice needs PortAudio on Linux, simpleaudio has no new
wheels). Without it, and without a sound device, the program says so once and stays silent.
"""

from __future__ import annotations

import math
import os
import sys
import threading
from typing import Any

import numpy as np

import twixt

LATEST_MS = 200  # an event that is later, as after a stall, is not played
VOICES = 12  # sounds at the same time; further ones are left out
RATE_HZ, LENGTH_S = 44_100, 0.18
TONES_HZ = 220 * 2 ** (np.arange(24) / 8)  # three octaves
STRONG = 6.0  # strength of the highest tone


class Player:
    """Plays tones. The library and the sound device are opened by a thread, so that no frame waits for them."""

    def __init__(self) -> None:
        self.mixer: Any = None  # None until the device is open, and without one
        self.tones: list[Any] = []
        self.opening = threading.Thread(target=self.open, daemon=True)
        self.opening.start()

    def open(self) -> None:
        os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
        try:
            from pygame import mixer

            mixer.init(RATE_HZ, -16, 1, 512, allowedchanges=0)
        except ImportError:
            print("sounds: silent; to hear events: pip install pygame-ce", file=sys.stderr)
        except Exception as error:
            print(f"sounds: silent, because there is no sound device: {error}", file=sys.stderr)
        else:
            mixer.set_num_channels(VOICES)
            self.tones = [mixer.Sound(buffer=tone(hz)) for hz in TONES_HZ]
            self.mixer = mixer

    def play(self, strength: float) -> bool:
        """Starts the tone of a strength, in 10 microseconds. Returns False if it is left out."""
        channel = None if self.mixer is None else self.mixer.find_channel()
        if channel is None:
            return False
        share = min(1.0, strength / STRONG)
        channel.play(self.tones[round(share * (len(self.tones) - 1))])
        channel.set_volume(0.1 + 0.9 * share)
        return True


def tone(hz: float) -> bytes:
    """Samples of a tone that begins at once and decays, 16 bits each."""
    seconds = np.arange(round(RATE_HZ * LENGTH_S)) / RATE_HZ
    wave = np.sin(2 * math.pi * hz * seconds) * np.exp(-seconds / 0.04) * np.minimum(1, seconds / 0.002)
    return (0.4 * 32767 * wave).astype(np.int16).tobytes()


player: Player | None = None


def play(event: twixt.Event) -> None:
    """Plays an event. A viewer calls it in the frame that shows the event."""
    global player
    if player is None:
        player = Player()
    if event.late_ms <= LATEST_MS:
        player.play(event.strength)


class Bouncing(twixt.World):
    """Balls that bounce, and emit an event at the instant of each contact."""

    dt = 1 / 60
    gravity, radius, restitution = 9.81, 0.15, 0.86

    def __init__(self, count: int = 6) -> None:
        self.bodies = twixt.Bodies(count)
        self.scene = twixt.Scene([twixt.Sphere(self.radius)] * count, camera=twixt.Camera((0, -7, 2), (0, 0, 1)))
        self.velocity, self.time = np.zeros(count), 0.0
        self.bodies.position[:, 0] = np.linspace(-2, 2, count)
        self.bodies.position[:, 2] = np.linspace(1.2, 3.2, count)

    def step(self, dt: float) -> None:
        for i, ball in enumerate(self.bodies.position):
            left_s, height, speed = dt, float(ball[2]) - self.radius, float(self.velocity[i])
            # In each step a ball flies, and bounces at the instant at which its height is 0.
            fall_s = (speed + math.sqrt(max(0.0, speed**2 + 2 * self.gravity * height))) / self.gravity
            if fall_s < left_s:
                impact = self.gravity * fall_s - speed
                at = self.time + max(0.0, fall_s)
                self.emit("hit", body=i, position=(ball[0], ball[1], 0), strength=impact, at=at)
                left_s, height, speed = left_s - fall_s, 0.0, self.restitution * impact
                if speed < 0.5:
                    speed = 4.0 + 0.5 * i  # the ball is thrown up again
            ball[2] = self.radius + height + speed * left_s - self.gravity * left_s**2 / 2
            self.velocity[i] = speed - self.gravity * left_s
        self.time += dt

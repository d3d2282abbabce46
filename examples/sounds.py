"""A short sound for each event of any world: the stronger, the louder and the higher.

Run it with: twixt run bounce:Bounce --on-event sounds:play

Sounds need `pip install pygame-ce`. It mixes them in C, beside Python's lock, and its wheels for Linux, macOS and
Windows contain all they need (miniaudio mixes in Python, sounddevice needs PortAudio on Linux, simpleaudio has no new
wheels). Without it, and without a sound device, the program says so once and stays silent.
"""

from __future__ import annotations

import importlib
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
STRONG = 8.0  # strength of the highest tone


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
            mixer: Any = importlib.import_module("pygame.mixer")
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

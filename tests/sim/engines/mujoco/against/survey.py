"""All models in some folders through `twixt run`: `python -m tests.sim.engines.mujoco.against.survey FOLDER ...`.

    python -m tests.sim.engines.mujoco.against.survey --seconds 10 --sheet sheet.png site-packages/dm_control

A file that MuJoCo loads must run to the end without a word of trouble. One that MuJoCo refuses must end with exit code 2
and MuJoCo's own words, with the file's name. The sheet has a picture of each model, as twixt shows it at the end of its
run and, on the right, as MuJoCo's own renderer draws it after the same simulated time.
"""

from __future__ import annotations

import argparse
import pathlib
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

import numpy as np

import twixt
from tests.sim.engines.mujoco.against.pictures import MujocosPictures, Pixels, viewers_camera

ENDINGS = ("*.xml", "*.urdf")
SIZE_PX = (480, 360)
COLUMNS = 4
CAPTION_PX = 16
# Time for a process to start, load and end, beside its run.
PATIENCE_S = 120.0
RUNS, REFUSED, FAILS = "runs", "refused", "FAILS"


class Surveyed(NamedTuple):
    """One file. words: last line of trouble, or empty."""

    path: pathlib.Path
    verdict: str
    words: str
    ours: Pixels | None = None
    theirs: Pixels | None = None


def models_in(folders: list[pathlib.Path]) -> Iterator[pathlib.Path]:
    """Model files in the folders, and files named themselves."""
    for folder in folders:
        files = [folder] if folder.is_file() else sorted(file for ending in ENDINGS for file in folder.rglob(ending))
        yield from files


def surveyed(seconds: float, path: pathlib.Path) -> Surveyed:
    """Runs a file, and compares what comes of it with what MuJoCo says of the file."""
    words = mujocos_words(path)
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "picture.png"
        done = subprocess.run(
            [
                sys.executable, str(twixt.__file__), "run", str(path), "--offscreen", "--seconds", f"{seconds:g}",
                "--no-overlay", "--size", "x".join(map(str, SIZE_PX)), "--screenshot", str(file),
                "--at", f"{0.9 * seconds:g}",
            ],
            capture_output=True, text=True, timeout=seconds * 3 + PATIENCE_S, check=False,
        )  # fmt: skip
        ours = _read(file) if file.exists() else None
    said = done.stderr.strip()
    if words:
        is_right = done.returncode == 2 and words in " ".join(said.split()) and str(path) in said
        return Surveyed(path, REFUSED if is_right else FAILS, _words(said))
    is_right = done.returncode == 0 and "Traceback" not in said and ours is not None
    return Surveyed(path, RUNS if is_right else FAILS, _words(said), ours)


def _words(said: str) -> str:
    """What a run said, without the place of its picture."""
    return " ".join(line for line in said.splitlines() if "screenshot in" not in line)[-300:]


def mujocos_words(path: pathlib.Path) -> str:
    """Words of MuJoCo's error about a file; empty for one that it loads."""
    import mujoco

    try:
        mujoco.MjModel.from_xml_path(str(path))
    except Exception as error:  # of several types
        return " ".join(str(error).split())
    return ""


def mujocos_picture(path: pathlib.Path, seconds: float) -> Pixels:
    """The model as MuJoCo draws it where a run takes its picture."""
    import mujoco

    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    while data.time < 0.9 * seconds:
        before = data.time
        mujoco.mj_step(model, data)
        if data.time <= before:
            break
    mujocos = MujocosPictures(model, SIZE_PX)
    shown = mujocos.shown(data, viewers_camera(model))
    mujocos.release()
    return shown


def _read(file: pathlib.Path) -> Pixels:
    from PIL import Image

    return np.asarray(Image.open(file).convert("RGB"))


def save_sheet(found: list[Surveyed], file: pathlib.Path) -> None:
    """Writes the contact sheet of the models that run."""
    from PIL import Image, ImageDraw

    drawn = [one for one in found if one.ours is not None]
    width, height = 2 * SIZE_PX[0], SIZE_PX[1] + CAPTION_PX
    sheet = Image.new("RGB", (COLUMNS * width, -(-len(drawn) // COLUMNS) * height))
    for number, one in enumerate(drawn):
        left, top = number % COLUMNS * width, number // COLUMNS * height
        ImageDraw.Draw(sheet).text((left + 4, top + 2), "/".join(one.path.parts[-3:]), (255, 255, 255))
        for place, pixels in enumerate((one.ours, one.theirs)):
            if pixels is not None:
                sheet.paste(Image.fromarray(pixels), (left + place * SIZE_PX[0], top + CAPTION_PX))
    sheet.reduce(2).save(file)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each run (10)")
    parser.add_argument("--jobs", type=int, default=1, help="models run at once (1)")
    parser.add_argument("--sheet", type=pathlib.Path, help="contact sheet (PNG)")
    asked = parser.parse_args()
    found = []
    print("| model | | |\n|---|---|---|")
    with ThreadPoolExecutor(asked.jobs) as pool:
        for one in pool.map(partial(surveyed, asked.seconds), models_in(asked.folders)):
            print(f"| {'/'.join(one.path.parts[-4:])} | {one.verdict} | {' '.join(one.words.split())} |", flush=True)
            found.append(one)
    if asked.sheet:
        # The renderer's contexts belong to one thread.
        pictures = [None if one.ours is None else mujocos_picture(one.path, asked.seconds) for one in found]
        save_sheet([one._replace(theirs=picture) for one, picture in zip(found, pictures, strict=True)], asked.sheet)
    verdicts = Counter(one.verdict for one in found)
    print(f"\n{verdicts[RUNS]} run, {verdicts[REFUSED]} refused with MuJoCo's words, {verdicts[FAILS]} fail")
    return 1 if verdicts[FAILS] else 0


if __name__ == "__main__":
    sys.exit(main())

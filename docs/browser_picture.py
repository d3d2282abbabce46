"""Makes the picture of docs/guides/browser.md: `python -m docs.browser_picture` writes docs/browser.png.

The picture is a screenshot of a real page: Chromium shows the built-in world `balls` from a server of this command.
"""

from __future__ import annotations

import re
import subprocess
import sys
from io import BytesIO
from pathlib import Path

from PIL import Image

from twixt.cli.chromium import Chromium

PATH = Path(__file__).with_name("browser.png")
SIZE_PX = (1000, 640)
# The world falls for some seconds; the figures on the page are those of the last five.
SETTLED_S, LIMIT_S = 4, 600
# A busy machine shows figures that no free one has, so the picture waits for a calm moment.
MOST_ERROR_MS = 5.0
COMMAND = (sys.executable, "-m", "twixt", "sim", "balls", "--set", "count=200", "--web", "--name", "balls")


def main() -> None:
    """Writes the picture."""
    with subprocess.Popen(COMMAND, stderr=subprocess.PIPE, text=True) as simulation:
        try:
            picture = picture_of(simulation)
        finally:
            simulation.terminate()
    picture.quantize(255, dither=Image.Dither.NONE).save(PATH, optimize=True)


def picture_of(simulation: subprocess.Popen[str]) -> Image.Image:
    """A screenshot of the page whose link the simulation prints."""
    assert simulation.stderr is not None
    link = next(found[0] for line in simulation.stderr if (found := re.search(r"http://\S+", line)))
    with Chromium(None, SIZE_PX) as chromium:
        chromium.page.open(link)
        is_calm = f"(twixt.frameLog.figures(5).animationErrorMs.p99 ?? Infinity) < {MOST_ERROR_MS}"
        chromium.page.wait_for(f"window.twixt && twixt.frameLog.count > {60 * SETTLED_S} && {is_calm}", LIMIT_S)
        return Image.open(BytesIO(chromium.page.screenshot())).convert("RGB")


if __name__ == "__main__":
    main()

"""The gallery: each example with its picture, and the page that shows them, docs/gallery.md.

    python -m tests.examples.gallery [--only pong] [--humanoid FILE]

Each picture is drawn offscreen from the unchanged example, two seconds after its first frame. The humanoid's model is a
file of gymnasium, which is not needed otherwise: without --humanoid its picture is not drawn again.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import click

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES, PAGE, PICTURES = ROOT / "examples", ROOT / "docs" / "gallery.md", ROOT / "docs" / "gallery"
SIZE_PX = 960, 540
SECONDS = 3
LIMIT_S = 120


class Shown(NamedTuple):
    """An example. run: arguments of `twixt run`; "" for a program with a `main`. needs: name of an extra. has_overlay:
    True if its picture has the panels."""

    module: str
    title: str
    run: str = ""
    needs: str = ""
    has_overlay: bool = False

    @property
    def command(self) -> str:
        """Command for the folder of the examples."""
        return f"twixt run {self.run}" if self.run else f"python {self.module}.py"

    @property
    def world(self) -> str:
        """Name of the world's class in the module; "" if there is none."""
        world = self.run.split()[0] if self.run else ""
        return world.partition(":")[2] if world.startswith(f"{self.module}:") else ""


SHOWN = (
    Shown("mujoco_dropin", "MuJoCo's passive viewer, replaced by one import", needs="mujoco"),
    Shown("humanoid_policy", "A humanoid that a policy moves", needs="mujoco"),
    Shown("model_loop", "Your own loop around a MuJoCo model, ten states a second", needs="mujoco"),
    Shown("own_loop", "Your own loop in numpy"),
    Shown("pendulum", "A pendulum with sliders and a live plot of its energy", "pendulum:Pendulum", has_overlay=True),
    Shown("mesh_file", "Two bodies that share a mesh from a file", "mesh_file:Gears", needs="mesh"),
    Shown("pong", "A 2D game: no perspective, flat colours, outlines", "pong:Pong"),
    Shown("bounce", "Events: a ring where and when a ball hits the floor", "bounce:Bounce --physics-hz 5"),
    Shown(
        "paper_figure",
        "A figure for a paper, drawn without a window",
        "paper_figure:Catenaries --quality best",
    ),
    Shown("shapes", "All shapes, in two tones that make rotation visible", "shapes:Tumbling"),
    Shown("hot_ring", "Your own columns: colour and size follow the heat", "hot_ring:HotRing"),
    Shown("lit_parts", "Part columns: the lamps, rods and hub of one body change", "lit_parts:LitParts"),
    Shown(
        "near_pairs",
        "Marks: rods between near balls, arrows for forces, a text",
        "near_pairs:NearPairs",
    ),
    Shown("solar_system", "Labels beside bodies, and a text that changes", "solar_system:SolarSystem --trails all"),
    Shown("draw_speed", "Your own drawing over any world", "balls --draw draw_speed:draw"),
    Shown("sounds", "A short sound for each event", "bounce:Bounce --on-event sounds:play"),
    Shown("event_log", "Your own loop that emits events, and a log of them"),
    Shown("orbit", "A first world: beads on a ring", "orbit:Orbit"),
)


BESIDE = (
    "",
    "## One state of a model by twixt, MuJoCo Studio and Viser",
    "",
    "[MuJoCo compatibility](engines.md#beside-studio-and-viser) lists what Studio and Viser do better than twixt, and how",
    "this picture was made.",
    "",
    "![Gymnasium's humanoid by twixt, MuJoCo Studio and Viser](beside.png)",
)


def page() -> str:
    """The text of docs/gallery.md."""
    lines = [
        "# Gallery",
        "",
        "This page shows every program in `examples/` with its picture. Type the command of a program in the folder",
        "`examples/`. `python -m tests.examples.gallery` draws the pictures with software rendering. The tests run every",
        "program.",
    ]
    for shown in SHOWN:
        extra = f" (first, in the checkout: `pip install '.[{shown.needs}]'`)" if shown.needs else ""
        lines += [
            "",
            f"## {shown.title}",
            "",
            f"[examples/{shown.module}.py](../examples/{shown.module}.py): `{shown.command}`{extra}",
            "",
            f"![{shown.title}](gallery/{shown.module}.png)",
        ]
    return "\n".join([*lines, *BESIDE]) + "\n"


def draw(shown: Shown, arguments: tuple[str, ...] = ()) -> None:
    """Draws the picture of one example. Raises CalledProcessError if the example fails."""
    picture = PICTURES / f"{shown.module}.png"
    if shown.run:
        size = "x".join(map(str, SIZE_PX))
        program = [
            *(sys.executable, "-m", "twixt", "run", *shown.run.split(), "--offscreen"),
            *(() if shown.has_overlay else ("--no-overlay",)),
            *("--size", size, "--seconds", str(SECONDS), "--screenshot", str(picture)),
        ]
    else:
        options = {"offscreen": True, "overlay": False, "size_px": SIZE_PX, "screenshot": str(picture)}
        program = [
            *(sys.executable, "-c"),
            f"import sys; sys.path.insert(0, '.'); import {shown.module} as example; "
            f"example.main(*{arguments!r}, seconds={SECONDS}, **{options!r})",
        ]
    picture.unlink(missing_ok=True)
    environ = {**os.environ, "EVENT_LOG": os.devnull}
    subprocess.run(program, cwd=EXAMPLES, env=environ, check=True, timeout=LIMIT_S, stdout=subprocess.DEVNULL)
    if not picture.is_file():
        raise click.ClickException(f"{shown.module}: no picture was made")


@click.command()
@click.option("--only", help="the name of one example")
@click.option("--humanoid", type=click.Path(exists=True, resolve_path=True), help="gymnasium's humanoid.xml")
def main(only: str | None, humanoid: str | None) -> None:
    """Draw the pictures of docs/gallery.md and write the page."""
    for shown in SHOWN:
        if only not in (None, shown.module):
            continue
        is_humanoid = shown.module == "humanoid_policy"
        if is_humanoid and humanoid is None:
            click.echo("humanoid_policy: picture not drawn; give --humanoid FILE")
            continue
        click.echo(shown.module)
        draw(shown, (humanoid,) if is_humanoid and humanoid else ())
    PAGE.write_text(page())


if __name__ == "__main__":
    main()

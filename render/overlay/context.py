"""Dear ImGui contexts: made, begun for a layout, given back.

Always: a context is current when its functions return, and OpenGL's state is as before.
Import this module late: it pulls in imgui-bundle.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import sys
from pathlib import Path
from typing import Any

from twixt.render.display import glfw_library

PACKAGE, NATIVE = "imgui_bundle", "imgui_bundle._imgui_bundle"


def _library() -> tuple[Any, Path]:
    """The library's native module and its package's folder.

    The package itself is not imported: it brings asyncio and two dozen modules more, a quarter of all its loading takes.
    Whoever imports it later gets it whole.
    """
    found = importlib.util.find_spec(PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError(f"No module named {PACKAGE!r}", name=PACKAGE)
    folders = list(found.submodule_search_locations)
    spec = importlib.machinery.PathFinder.find_spec(NATIVE, folders)
    if NATIVE not in sys.modules and spec is not None and spec.loader is not None:
        native = importlib.util.module_from_spec(spec)
        sys.modules[NATIVE] = native
        spec.loader.exec_module(native)
    return importlib.import_module(NATIVE), Path(folders[0])


with glfw_library.sharing():
    _native, _folder = _library()
imgui: Any = _native.imgui

FONT_PX = 15.0


def new_context() -> Any:
    """An ImGui context with our font, current, ready to draw with the OpenGL 3.3 context that is current."""
    context = imgui.create_context()
    imgui.set_current_context(context)
    io = imgui.get_io()
    io.set_ini_filename("")
    io.set_log_filename("")
    font = _folder / "assets" / "fonts" / "Roboto" / "Roboto-Regular.ttf"
    if font.is_file():
        io.fonts.add_font_from_file_ttf(str(font), FONT_PX)
    imgui.style_colors_dark()
    imgui.backends.opengl3_init("#version 330")
    return context


def begin(size_px: tuple[int, int], scale: float, elapsed_s: float = 0.1) -> None:
    """Begins a layout in the current ImGui context, for a picture of this size. elapsed_s: since the one before."""
    io = imgui.get_io()
    io.display_size = imgui.ImVec2(size_px[0] / scale, size_px[1] / scale)
    io.display_framebuffer_scale = imgui.ImVec2(scale, scale)
    io.delta_time = elapsed_s
    imgui.backends.opengl3_new_frame()
    imgui.new_frame()


def close_context(context: Any) -> None:
    """Gives an ImGui context back."""
    imgui.set_current_context(context)
    imgui.backends.opengl3_shutdown()
    imgui.destroy_context(context)

"""Dear ImGui contexts: made, begun for a layout, given back.

Always: a context is current when its functions return, and OpenGL's state is as before.
Import this module late: it pulls in imgui-bundle.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from twixt.render.display import glfw_library

with glfw_library.sharing():
    import imgui_bundle
    from imgui_bundle import imgui

FONT_PX = 15.0


def new_context() -> Any:
    """An ImGui context with our font, current, ready to draw with the OpenGL 3.3 context that is current."""
    context = imgui.create_context()
    imgui.set_current_context(context)
    io = imgui.get_io()
    io.set_ini_filename("")
    io.set_log_filename("")
    font = Path(imgui_bundle.__file__).parent / "assets" / "fonts" / "Roboto" / "Roboto-Regular.ttf"
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

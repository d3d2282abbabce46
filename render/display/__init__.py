"""Where frames are shown: a window on a real display, or no window at all; all that glfw is called for."""

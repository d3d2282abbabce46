"""Displays. Only this folder calls glfw. display: interface and choice of a display. window, window_events, input:
window, its events, another monitor or mode. offscreen: picture in memory. present_times, wayland, x11: present
times."""

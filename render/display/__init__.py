"""Displays; no other folder calls glfw. display: interface and choice; window, window_input, input: window and events;
offscreen: picture in memory; present_times, wayland, x11: present times; display_changes: another monitor or mode."""

"""Opens displays to draw on. Only this folder calls glfw. `display` has the interface of a display and chooses one.
`window`, `window_events` and `input` handle a window, its input events, and a change to another monitor or mode.
`offscreen` draws a picture in memory. `present_times`, `wayland` and `x11` find out when frames were shown."""

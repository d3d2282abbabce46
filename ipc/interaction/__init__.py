"""Values that pass between a program and the users of its viewers. events: keys, clicks, camera views, pulls.
controls: sliders, switches, buttons. overlay: texts, images and figures over the picture."""

"""Values between a program and the users of its viewers. events: keys, clicks, the view, pulls. controls: sliders,
switches, buttons. overlay: texts, images and figures over the picture."""

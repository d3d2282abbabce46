"""Values that pass between a program and the users of its viewers. events defines keys, clicks, camera views and
pulls.
controls defines sliders, switches and buttons. overlay defines texts, images and figures over the picture."""

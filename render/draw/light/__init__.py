"""Light and shadows. lit_pictures: shadow maps, and the three passes of a picture with mapped shadows. composing:
shading and multisampling of a picture."""

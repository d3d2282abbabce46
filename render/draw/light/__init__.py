"""These modules add light and shadows. lit_pictures draws shadow maps, and makes the three passes of a picture with
mapped shadows. composing shades a picture and computes the mean of each pixel's samples."""

"""A picture: one view of the world, by one clock and one method. Two of them side by side are a split view.

change: from one method to another without a jump. poser: bodies posed by numpy. part: bodies drawn alike.
picture: the parts of one view. stage: what is on the screen, joined with history, renderer and camera.
"""

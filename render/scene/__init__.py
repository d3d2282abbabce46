"""A picture: one view of the world, by one clock and one method. Two of them side by side are a split view.

numpy_poser: poses computed in numpy. scene_parents, frames_in_time: frames in which children are blended.
shapes_in_time: whose shapes are drawn. frame_jumps: bodies whose own frame a scene moves. picture_part: bodies that share draw time and method. picture: the parts of one view. stage: all
pictures of the window, with history, renderer and camera. stage_camera, trails, labels and user_drawing: what is added
to the pictures.
"""

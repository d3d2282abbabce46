"""Layers over the picture. over_picture: all of them; overlay, panel_layout, widgets: panels; panel_state,
shown_values: their figures; imgui_context: Dear ImGui, labels, plots; program_pictures: the program's images.
Importing this folder alone loads nothing that draws."""

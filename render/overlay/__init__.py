"""Layers over the picture. over_picture: all layers. overlay, panel_layout, widgets: panels. panel_state: values on
the panels. imgui_context: Dear ImGui, labels, plots. program_pictures: the program's images. Importing this package
alone does not load a drawing library."""

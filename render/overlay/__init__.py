"""Draws layers over the picture. `overlay_layer` draws all layers. `overlay`, `panel_layout` and `widgets` draw the
panels, and `panel_state` has the values on the panels. `imgui_context` draws labels and figures with Dear ImGui.
`program_pictures` draws the program's images. The import of this package alone does not load a drawing library."""

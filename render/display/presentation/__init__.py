"""Presentation times: the instants at which frames were shown, as the display reports them."""

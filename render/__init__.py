"""The render process: snapshots in, frames out, paced by the display and measured."""

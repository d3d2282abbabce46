"""The render process. process, owned_viewer: entries; start_up, attach: before the first frame; loop, spare_time,
idle: frames, work between frames, and periods without frames; frame_record: clock and log row of a frame; screenshots;
outcome: the end."""

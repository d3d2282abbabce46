"""The render process. process, owned_viewer: entries; start_up, attach: before the first frame; loop, spare_time, idle:
frames, the work between them and pauses; frame_record, frame_timer: log row and time of a frame; outcome: the end."""

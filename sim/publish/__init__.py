"""The publisher: writes snapshots into the channel, delays, counts and limits them."""

"""What is drawn in another way where a processor draws: pixels are dear there, and copies of memory cheap."""

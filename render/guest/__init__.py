"""The viewer as physics' guest: what it takes of cores that physics waits for."""

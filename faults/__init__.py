"""Faults: commands that are killed, or fail, at every step that changes the disk, and what must hold then."""

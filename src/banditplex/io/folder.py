"""Our own format: a folder with a JSON header and one memory-mapped array per column."""

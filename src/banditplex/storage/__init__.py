"""What all files that we write stand on: locks, atomic writes of files and folders, state trees, rows of results."""

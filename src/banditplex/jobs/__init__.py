"""Runs of many independent tasks: in this process, in processes, on Ray; and their results on disk."""

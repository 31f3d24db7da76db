"""Run many independent tasks serially, in worker processes or on Ray, and store their results on disk."""

"""Pairs of nodes: which are known, which are negatives, and what may be seen of a pair."""

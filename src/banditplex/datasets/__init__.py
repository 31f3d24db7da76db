"""Data sets that load by name, and generators whose relevant layers are known."""

from banditplex.datasets.planted import planted, similar_layer

__all__ = ["planted", "similar_layer"]

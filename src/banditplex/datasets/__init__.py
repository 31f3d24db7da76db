"""Data sets that load by name, and generators whose relevant layers are known."""

from banditplex.datasets.base import Dataset, File
from banditplex.datasets.checks import check_dataset
from banditplex.datasets.loading import check_files, describe, fetch, list_datasets, load_dataset, register
from banditplex.datasets.planted import planted, similar_layer

__all__ = [
    "Dataset",
    "File",
    "check_dataset",
    "check_files",
    "describe",
    "fetch",
    "list_datasets",
    "load_dataset",
    "planted",
    "register",
    "similar_layer",
]

"""Data sets by name, and generators of multiplexes with known relevant layers."""

from banditplex.datasets.base import Dataset, File
from banditplex.datasets.groups import groups
from banditplex.datasets.loading import (
    check_dataset,
    check_files,
    dataset_info,
    fetch,
    list_datasets,
    load_dataset,
    register,
)
from banditplex.datasets.mixed import mixed
from banditplex.datasets.planted import planted, similar_layer

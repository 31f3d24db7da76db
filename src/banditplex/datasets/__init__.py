"""Data sets by name, and generators of multiplexes with known relevant layers."""

# isort: off
from banditplex.datasets.base import Dataset, File
from banditplex.datasets.groups import groups
from banditplex.datasets.loading import check_dataset, check_files, dataset_info, fetch
from banditplex.datasets.loading import list_datasets, load_dataset, register
from banditplex.datasets.groups import mixed
from banditplex.datasets.planted import planted, similar_layer

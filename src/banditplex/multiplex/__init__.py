"""The multiplex network: an immutable value with one set of nodes and many layers of edges."""

from banditplex.multiplex.names import Name
from banditplex.multiplex.value import Multiplex

__all__ = ["Multiplex", "Name"]

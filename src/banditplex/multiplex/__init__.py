"""The multiplex network: one set of nodes, many layers of edges, a value that nothing changes in place."""

from banditplex.multiplex.adjacency import Adjacency
from banditplex.multiplex.names import Name
from banditplex.multiplex.value import Multiplex

__all__ = ["Adjacency", "Multiplex", "Name"]

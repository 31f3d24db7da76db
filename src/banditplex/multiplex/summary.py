"""Statistics of a multiplex, layer by layer."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from banditplex.arrays import Ints
from banditplex.multiplex.build import linked_types, num_linkable, show_types, stable_order

if TYPE_CHECKING:
    from banditplex.multiplex.value import Multiplex


@dataclass(frozen=True, repr=False)
class Summary:
    """Statistics of a multiplex.

    `layers` has one row per layer: `edges`, `active_nodes` (nodes with an edge), `self_loops`, `density` (edges other
    than self loops, divided by the number of node pairs), `most_similar` and `jaccard` (the layer with the highest
    Jaccard index, and that index). `overlap` is the sparse layer x layer matrix of Jaccard indices: pairs in both
    layers divided by pairs in either. Its diagonal is 1 for layers that have edges. If nodes have types, `layers` also
    has `types`, the types that each layer links, such as "item-user", or "user>item" if directed; `density` is then
    that among the pairs of these types.
    """

    title: str
    layers: pd.DataFrame
    overlap: "sp.csr_array"

    def overlap_frame(self) -> pd.DataFrame:
        """Return the Jaccard matrix as a dense table with layer names, for small numbers of layers."""
        return pd.DataFrame(self.overlap.toarray(), index=self.layers.index, columns=self.layers.index)

    def __repr__(self) -> str:
        return f"{self.title}\n{self.layers.to_string(float_format='{:.4f}'.format, max_rows=20)}"


def summarise(mx: "Multiplex") -> Summary:
    """Compute the statistics without a loop over layers; memory grows with edges and pairs of overlapping layers."""
    source, destination = mx.edge_index
    loops = np.bincount(mx.edge_layer[source == destination], minlength=mx.num_layers)
    active = np.unique(mx.edge_layer * mx.num_nodes + mx.edge_index)
    links = linked_types(mx)
    overlap = jaccard(mx)
    closest, similarity = _closest(overlap)
    layers = pd.DataFrame(
        {
            "edges": mx.layer_sizes,
            "active_nodes": np.bincount(active // max(mx.num_nodes, 1), minlength=mx.num_layers),
            "self_loops": loops,
            "density": (mx.layer_sizes - loops) / np.maximum(num_linkable(mx, links), 1),
            "most_similar": pd.Series([mx.layer_names[i] if i >= 0 else None for i in closest], dtype=object),
            "jaccard": similarity,
        }
    ).set_axis(pd.Index(mx.layer_names, name="layer"))
    if mx.node_types is not None:
        layers["types"] = show_types(mx, links)
    return Summary(mx.title, layers, overlap)


def jaccard(mx: "Multiplex") -> "sp.csr_array":
    """Return the sparse (num_layers, num_layers) matrix of |A and B| / |A or B|, A and B the edges of two layers."""
    key = mx.edge_index[0] * mx.num_nodes + mx.edge_index[1]
    order = stable_order(key, (mx.num_nodes**2).bit_length())
    new = np.diff(key[order], prepend=-1) != 0
    pair = np.cumsum(new) - 1  # equal pairs get the same number
    shape = mx.num_layers, np.count_nonzero(new)
    incidence = sp.csr_array((np.ones(mx.num_edges), (mx.edge_layer[order], pair)), shape=shape)
    both = sp.coo_array(incidence @ incidence.T)
    sizes = mx.layer_sizes
    row, column = both.coords
    either = sizes[row] + sizes[column] - both.data
    return sp.csr_array((both.data / either, (row, column)), shape=both.shape)


def _closest(overlap: "sp.csr_array") -> tuple[Ints, Any]:
    """Return the column of the largest off-diagonal entry of each row (-1 if there is none), and that entry."""
    off = sp.coo_array(overlap - sp.diags_array(overlap.diagonal()))
    off.eliminate_zeros()
    row, column = off.coords
    order = np.lexsort((column, -off.data, row))
    row, column, data = row[order], column[order], off.data[order]
    first = np.flatnonzero(np.diff(row, prepend=-1))
    closest, similarity = np.full(overlap.shape[0], -1), np.zeros(overlap.shape[0])
    closest[row[first]], similarity[row[first]] = column[first], data[first]
    return closest, similarity

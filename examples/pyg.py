"""PyTorch Geometric in and out: a HeteroData becomes a multiplex, and scores and layers go back to PyG."""

import torch
from torch_geometric.data import HeteroData
from torch_geometric.nn import GATv2Conv, HeteroConv, SAGEConv
from torch_geometric.transforms import ToUndirected

import banditplex as bx

# In: any HeteroData. Edge types become layers, node types stay types.
generator = torch.Generator().manual_seed(0)
data = HeteroData()
data["author"].x = torch.randn(40, 8, generator=generator)
data["paper"].x = torch.randn(60, 8, generator=generator)
writes = torch.stack([torch.randint(40, (150,), generator=generator), torch.randint(60, (150,), generator=generator)])
data["author", "writes", "paper"].edge_index = writes
data["author", "reviews", "paper"].edge_index = writes[:, ::2].flip(1)  # authors review what they could have written
data["paper", "cites", "paper"].edge_index = torch.randint(60, (2, 200), generator=generator)
mx = bx.Multiplex.from_hetero_data(data)
print(mx.summary(), "\n")

# A PyG convolution as the encoder, with the features of the nodes.
model = bx.LinkPredictor(conv=GATv2Conv, epochs=3, seed=0).fit(mx, targets=["writes"])
new = model.recommend("writes", top=5)
print(new.round(3).to_string(index=False), "\n")

# Out: a HeteroData again, for any network of PyG.
both_ways = ToUndirected()(mx.to_hetero_data())  # authors get messages, too
network = HeteroConv({kind: SAGEConv((-1, -1), 16) for kind in both_ways.edge_types})
vectors = network(both_ways.x_dict, both_ways.edge_index_dict)
print(both_ways, {kind: tuple(each.shape) for kind, each in vectors.items()}, sep="\n")

assert new["source"].str.startswith("author/").all()
cites = "paper", "cites", "paper"
assert torch.equal(mx.to_hetero_data()[cites].edge_index, data[cites].edge_index.unique(dim=1))  # each edge once
assert vectors["paper"].shape == (60, 16)

"""The network: graphs on the device, the encoder, pair features, and the terms of the logit."""

from banditplex.nn.encoder import Convolution, Encoder
from banditplex.nn.ensemble import Network
from banditplex.nn.graph import Block, HiddenEdges, PackedGraph
from banditplex.nn.model import Logits, MultiplexModel
from banditplex.nn.pair_features import PairFeatures, compute_pair_features

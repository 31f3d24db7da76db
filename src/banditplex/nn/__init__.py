"""The network: graphs on the device, the encoder, pair features, and the terms of the logit."""

from banditplex.nn.encoder import Convolution as Convolution
from banditplex.nn.encoder import Encoder as Encoder
from banditplex.nn.ensemble import Network as Network
from banditplex.nn.graph import Block as Block
from banditplex.nn.graph import HiddenEdges as HiddenEdges
from banditplex.nn.graph import PackedGraph as PackedGraph
from banditplex.nn.model import Logits as Logits
from banditplex.nn.model import MultiplexModel as MultiplexModel
from banditplex.nn.pair_features import PairFeatures as PairFeatures
from banditplex.nn.pair_features import compute_pair_features as compute_pair_features

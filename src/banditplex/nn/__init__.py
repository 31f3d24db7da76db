"""The network: layers packed for the device, their encoder, features of pairs, and the sum of logits over layers."""

from banditplex.nn.encoder import Convolution as Convolution
from banditplex.nn.encoder import Encoder as Encoder
from banditplex.nn.graph import Block as Block
from banditplex.nn.graph import HiddenEdges as HiddenEdges
from banditplex.nn.graph import Neighbours as Neighbours
from banditplex.nn.graph import PackedGraph as PackedGraph
from banditplex.nn.model import Logits as Logits
from banditplex.nn.model import MultiplexModel as MultiplexModel
from banditplex.nn.pair_features import PairFeatures as PairFeatures
from banditplex.nn.pair_features import compute_pair_features as compute_pair_features

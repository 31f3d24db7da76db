"""Training: where multiplex, network, relevance and policy meet."""

from banditplex.training.config import Config as Config
from banditplex.training.loop import Trainer as Trainer

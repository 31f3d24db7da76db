"""Training: where multiplex, network, relevance and policy meet."""

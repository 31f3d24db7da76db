"""The experiments of "Bandit Sampling for Multiplex Networks", beside what the paper says of them."""

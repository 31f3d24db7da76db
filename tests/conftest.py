"""Tests run beside each other: one thread each is fastest."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

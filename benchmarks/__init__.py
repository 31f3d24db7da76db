"""Speed and memory, as ratios measured in one run. `make bench` runs all; `python -m benchmarks NAME` runs one."""

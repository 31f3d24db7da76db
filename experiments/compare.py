"""`banditplex compare` that knows `experiments.rivals`, too: `python -m experiments.compare DATA [options]`."""

import sys

from banditplex.cli import main
from experiments.rivals import register

if __name__ == "__main__":
    register()
    sys.argv[1:1] = ["compare"]
    main()

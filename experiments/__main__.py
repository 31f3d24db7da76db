"""`python -m experiments NAME [options]`."""

import sys

from experiments.runner import main

if __name__ == "__main__":
    main(sys.argv[1:])

"""`python -m banditplex` is `banditplex`."""

from banditplex.cli import main

if __name__ == "__main__":
    main()

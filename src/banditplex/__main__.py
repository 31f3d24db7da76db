"""`banditplex`, and `python -m banditplex`."""

from typing import NoReturn


def main() -> NoReturn:
    """Run the command line; Ctrl-C exits with status 130, also while modules are imported."""
    try:
        from banditplex.cli import main

        main()
    except KeyboardInterrupt:
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()

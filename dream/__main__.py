"""`python -m dream` is the command `dream`."""

from dream.cli import main

if __name__ == "__main__":
    main()

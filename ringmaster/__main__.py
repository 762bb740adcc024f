"""Start the command line: `python -m ringmaster`, and the `ringmaster` command."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and exit with its status."""
    from ringmaster.cli import run
    from ringmaster.commands.console import close_streams, prepare_streams

    prepare_streams()
    sys.exit(close_streams(run(sys.argv[1:])))


if __name__ == "__main__":
    main()

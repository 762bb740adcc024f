"""Serve the page of a run, for as long as the run holds standard input open."""

from __future__ import annotations

import sys
from pathlib import Path

from ringmaster.errors import RingmasterError
from ringmaster.server.app import serve


def main() -> None:
    """Read a control file, a port and perhaps --safe from the command line; print the address."""
    place, port, *options = sys.argv[1:]
    try:
        serve(
            Path(place),
            int(port),
            lambda url: print(url, flush=True),
            until_eof=True,
            safe="--safe" in options,
        )
    except RingmasterError as error:
        print(f"error: {error}", flush=True)
        sys.exit(1)


if __name__ == "__main__":
    main()

"""A UCI engine that answers at once, with moves from a script.

Made to be played against itself (or against another process of it): both sides follow
the same game.  Start it with `python -I -S`.
"""

from __future__ import annotations

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from flags import parse
from uci_player import FLAGS, UciPlayer, print_openings


def main(kind: type[UciPlayer] = UciPlayer, doc: str = __doc__ or "") -> None:
    flags = parse(sys.argv[1:], doc, FLAGS)
    if flags["openings"]:
        print_openings(flags["openings"])
        return
    handle = kind(flags).handle
    rest = b""
    try:
        while chunk := os.read(0, 1 << 16):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                if line.startswith(b"quit"):
                    return
                answer = handle(line)
                while answer:
                    answer = answer[os.write(1, answer) :]
    except (BrokenPipeError, KeyboardInterrupt):
        pass


if __name__ == "__main__":
    main()

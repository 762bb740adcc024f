"""`python -m ringmaster.demo chess` speaks UCI, `… shogi` USI, `… go` GTP."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from importlib import import_module

from ringmaster.demo.console import Console, Engine

_ENGINES = {"chess": "ChessEngine", "shogi": "ShogiEngine", "go": "GoEngine"}


def main(arguments: list[str]) -> int:
    """Run an engine on standard input and output; return the exit status."""
    game = " ".join(arguments)
    if game not in _ENGINES:
        print("usage: python -m ringmaster.demo chess | shogi | go", file=sys.stderr)
        return 2
    if not os.isatty(0):
        # Ctrl-C in a terminal is meant for ringmaster, which ends its engines
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    # import one engine only: engines are started often
    module = import_module(f"ringmaster.demo.{game}_engine")
    engine: Engine = getattr(module, _ENGINES[game])(Console())
    with suppress(KeyboardInterrupt, BrokenPipeError):
        engine.serve()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

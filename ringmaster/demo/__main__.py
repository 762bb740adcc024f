"""`python -m ringmaster.demo chess` speaks UCI, `… shogi` USI, `… go` GTP."""

from __future__ import annotations

import os
import re
import sys

from ringmaster.demo.console import Console, Engine, ProcessConsole, serve

USAGE = """\
usage: python -m ringmaster.demo [chess | shogi | go] [--seed N]

The engines that ship with ringmaster: chess over UCI, shogi over USI, Go over GTP.
Without a name the first line of input decides: "uci" for chess, "usi" for shogi,
anything else for Go.
"""


def _engine(game: str, console: Console) -> Engine:
    # import one engine only: engines are started often
    if game == "chess":
        from ringmaster.demo.chess_engine import ChessEngine

        return ChessEngine(console)
    if game == "shogi":
        from ringmaster.demo.shogi_engine import ShogiEngine

        return ShogiEngine(console)
    from ringmaster.demo.go_engine import GoEngine

    return GoEngine(console)


def main(arguments: list[str]) -> int:
    """Run an engine on standard input and output; return the exit status."""
    game, seed = "", "0"
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word in ("-h", "--help"):
            print(USAGE, end="")
            return 0
        if word in ("chess", "shogi", "go") and not game:
            game = word
        elif word == "--seed" and rest and re.fullmatch("[0-9]{1,9}", rest[0]):
            seed = rest.pop(0)
        else:
            print(f"{USAGE}\nnot understood: {word}", file=sys.stderr)
            return 2
    interactive = os.isatty(0)
    if not game and interactive:
        print(USAGE, end="", file=sys.stderr)
        return 2
    if not interactive:
        # Ctrl-C in a terminal is meant for ringmaster, which ends its engines
        import signal

        signal.signal(signal.SIGINT, signal.SIG_IGN)
    console = ProcessConsole()
    try:
        if not game:
            first = console.read()
            if first is None:
                return 0
            console.unread([first])
            game = {"uci": "chess", "usi": "shogi"}.get(first.strip(), "go")
        engine = _engine(game, console)
        engine.options.set("Seed", seed)
        serve(engine)
    except (KeyboardInterrupt, BrokenPipeError):
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

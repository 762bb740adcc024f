"""`python -m ringmaster.demo chess` speaks UCI, `… shogi` USI, `… go` GTP."""

from __future__ import annotations

import os
import re
import sys

from ringmaster.demo.console import Console, ProcessConsole

USAGE = """\
usage: python -m ringmaster.demo [chess | shogi | go] [--seed N]

The engines that ship with ringmaster: chess over UCI, shogi over USI, Go over GTP.
Without a name the first line of input decides: "uci" for chess, "usi" for shogi,
anything else for Go.
"""


def _serve(game: str, seed: str, console: Console) -> None:
    # Only what the game needs is imported: an engine is started often.
    if game == "chess":
        from ringmaster.demo.uci import ChessEngine

        chess = ChessEngine(console)
        chess.options.set("Seed", seed)
        chess.run()
    elif game == "shogi":
        from ringmaster.demo.usi import ShogiEngine

        shogi = ShogiEngine(console)
        shogi.options.set("Seed", seed)
        shogi.run()
    else:
        from ringmaster.demo.gtp import GoEngine

        go = GoEngine(console)
        go.options.set("Seed", seed)
        go.run()


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
        # Ctrl-C in the terminal of a ringmaster is meant for the ringmaster.
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
        _serve(game, seed, console)
    except (KeyboardInterrupt, BrokenPipeError):
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

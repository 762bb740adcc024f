"""What a referee adds to the games of two engines, beside other match runners.

    python benchmarks/referee.py [--fastchess PATH] [--c-chess-cli PATH] [--cutechess-cli PATH]
        [--shogiarena PATH] [--gomill COMMAND] [--rounds 5] [--work NAME ...] [--short] [--json]

Each peer plays in rounds that alternate with ringmaster's; the table has the medians and
the ratio of ours to theirs.  A peer that is not given is left out, and told.  The engines
are `c/instant.c`, which answers at once with the moves of a 200-ply game that ends in mate
(with and without 20 info lines a move), and Stockfish with 1,000 nodes a move from 55
openings.  Every program is called as its users do, whole command lines with PGN, and plays
two matches of different length: what counts is what the longer one takes more, so that
starting and ending drop out.  ringmaster is measured as it is by default, which is with a
record file a game and one for all, and without records.  "own CPU" is that of the program
and what it starts, engines left out.

`--beside 2` keeps two other processes busy all the while: a match on a machine that somebody
else uses, too.

Without any peer there is still the bare loop in C (`c/turns.c`), which passes moves on and
does nothing else, and our own UCI for the other protocols.  Linux only; needs a C compiler.
"""

from __future__ import annotations

import argparse
import importlib
import shutil

import instant
import meter
from peers import protocols, uci, worker_path
from rounds import Row, show_rows

#: By option: the module in `peers/`, and whether it plays the works for UCI engines.
PEERS = {
    "fastchess": ("fastchess", True),
    "c-chess-cli": ("c_chess_cli", True),
    "cutechess-cli": ("cutechess", True),
    "shogiarena": ("shogiarena", False),
    "gomill": ("gomill", False),
}
#: Works that need no peer.
OWN = ("worker", "bare", "protocols")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in PEERS:
        parser.add_argument(f"--{name}", metavar="PATH")
    parser.add_argument("--rounds", type=int, default=5)
    works = (*uci.WORKS, *OWN)
    parser.add_argument("--work", nargs="+", choices=works, default=works, metavar="NAME")
    parser.add_argument("--beside", type=int, default=0, metavar="N", help="busy processes")
    parser.add_argument("--short", action="store_true", help="one round of few games")
    parser.add_argument("--json", action="store_true")
    arguments = vars(parser.parse_args())
    short, works = arguments["short"], arguments["work"]
    rounds = 1 if short else arguments["rounds"]
    if instant.compiler() is None:
        parser.exit(0, "skipped: there is no C compiler\n")
    rows: list[Row] = []
    notes = []
    with meter.busy(arguments["beside"]):
        for name, (module, plays_uci) in PEERS.items():
            path = arguments[name.replace("-", "_")]
            if path is None or shutil.which(path.split()[0]) is None:
                notes.append(f"skipped: {name} " + (f"(no {path})" if path else f"(no --{name})"))
                continue
            peer = importlib.import_module(f"peers.{module}")
            chosen = {"works": works} if plays_uci else {}
            rows += peer.rows(path, rounds=rounds, short=short, **chosen)
        if "worker" in works:
            rows += worker_path.rows(rounds=rounds, short=short)
        if "bare" in works:
            rows += uci.bare_rows(rounds=rounds, short=short, works=works)
        if "protocols" in works:
            rows += protocols.rows(rounds=rounds, short=short)
    if "stockfish" in works and shutil.which("stockfish") is None:
        notes.append("skipped: stockfish (not installed)")
    show_rows(rows, notes, as_json=arguments["json"])


if __name__ == "__main__":
    main()

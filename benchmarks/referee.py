"""Compare the time that ringmaster adds to a game with that of other match runners.

    python benchmarks/referee.py [--fastchess PATH] [--c-chess-cli PATH] [--cutechess-cli PATH]
        [--shogiarena PATH] [--gomill COMMAND] [--rounds 5] [--work NAME ...] [--short] [--json]

Each peer plays in rounds that alternate with ringmaster's.  The table has the medians and the
ratio of ours to theirs.  Peers without a path are skipped.  The engines are `c/instant.c`, which
answers at once with the moves of a 200-ply game (with and without 20 info lines a move), and
Stockfish with 1,000 nodes a move from 55 openings.  Every program runs as its users run it, with
its command line and PGN.  It plays two matches of different length; the difference excludes
start and end.  ringmaster is measured with its defaults (a record file a game and one for
all) and without records.  "own CPU" is of the program and its children, without engines.

`--beside 2` keeps two other processes busy, like a machine with other users.

Two comparisons need no peer: the bare loop in C (`c/turns.c`), which only passes moves on, and
our own UCI for the other protocols.  Linux only; needs a C compiler.
"""

from __future__ import annotations

import argparse
import shutil

import instant
import meter
from common import Row, show_rows
from peers import gomill, shogiarena, uci, without_peer

#: Match runners for UCI engines, and for other protocols, by option.
UCI_PEERS = {
    "fastchess": uci.fastchess,
    "c-chess-cli": uci.c_chess_cli,
    "cutechess-cli": uci.cutechess,
}
OTHER_PEERS = {"shogiarena": shogiarena.rows, "gomill": gomill.rows}
#: Works that need no peer.
OWN = ("worker", "bare", "protocols")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in (*UCI_PEERS, *OTHER_PEERS):
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
        for name in (*UCI_PEERS, *OTHER_PEERS):
            path = arguments[name.replace("-", "_")]
            if path is None or shutil.which(path.split()[0]) is None:
                notes.append(f"skipped: {name} " + (f"(no {path})" if path else f"(no --{name})"))
            elif name in UCI_PEERS:
                rows += uci.uci_rows(UCI_PEERS[name](path), rounds=rounds, short=short, works=works)
            else:
                rows += OTHER_PEERS[name](path, rounds=rounds, short=short)
        if "worker" in works:
            rows += without_peer.worker_rows(rounds=rounds, short=short)
        if "bare" in works:
            rows += uci.bare_rows(rounds=rounds, short=short, works=works)
        if "protocols" in works:
            rows += without_peer.protocol_rows(rounds=rounds, short=short)
    if "stockfish" in works and shutil.which("stockfish") is None:
        notes.append("skipped: stockfish (not installed)")
    show_rows(rows, notes, as_json=arguments["json"])


if __name__ == "__main__":
    main()

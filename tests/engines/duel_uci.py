"""A UCI engine that answers at once and whose games are decided by its options.

Both sides follow one script, so every game is legal and ends within ten plies:

* White blunders:  1. f3 e5 2. g4 Qh4#
* Black blunders:  1. e4 e5 2. Qh5 Nc6 3. Bc4 Nf6 4. Qxf7#
* nobody does:     1. e4 e6, then the knights go to and fro: threefold repetition

Whether a side blunders is a function of its options, its colour and the start
position alone (move number included), so that a book of start positions that
differ in their move numbers gives games with different results, the same in
every run.  The further option X is from 70, the more blunders.

--log FILE  append a line for each process that is started (its pid)
"""

import os
import sys
import zlib

WHITE_FOOL = {0: "f2f3", 1: "e7e5", 2: "g2g4", 3: "d8h4"}
BLACK_FOOL = {0: "e2e4", 1: "e7e5", 2: "d1h5", 3: "b8c6", 4: "f1c4", 5: "g8f6", 6: "h5f7"}
SHUFFLE = ("g1f3", "g8f6", "f3g1", "f6g8")


def answer(start: str, moves: list[str], options: dict[str, str]) -> str:
    ply = len(moves)
    if ply < 2:
        key = f"{start} {ply} {sorted(options.items())}".encode()
        chance = 200 + 8 * abs(int(options.get("X", "50")) - 70)
        blunder = zlib.crc32(key) % 1000 < chance
        if ply == 0:
            return WHITE_FOOL[0] if blunder else "e2e4"
        if moves[0] == "f2f3":
            return WHITE_FOOL[1]
        return "e7e5" if blunder else "e7e6"
    if moves[0] == "f2f3":
        return WHITE_FOOL[ply]
    if moves[1] == "e7e5":
        return BLACK_FOOL[ply]
    return SHUFFLE[(ply - 2) % 4]


def main() -> None:
    if "--log" in sys.argv:
        with open(sys.argv[sys.argv.index("--log") + 1], "a") as log:
            log.write(f"{os.getpid()}\n")
    options: dict[str, str] = {}
    start, moves = "startpos", []
    out = sys.stdout
    for line in sys.stdin:
        word, _, rest = line.strip().partition(" ")
        if word == "uci":
            out.write(
                "id name Duel\noption name X type spin default 50 min 0 max 100\n"
                "option name Y type spin default 50 min 0 max 100\nuciok\n"
            )
        elif word == "isready":
            out.write("readyok\n")
        elif word == "setoption":
            name, _, value = rest.removeprefix("name ").partition(" value ")
            options[name] = value
        elif word == "position":
            start, _, played = rest.partition(" moves ")
            moves = played.split()
        elif word == "go":
            out.write(f"bestmove {answer(start, moves, options)}\n")
        elif word == "quit":
            return
        out.flush()


if __name__ == "__main__":
    main()

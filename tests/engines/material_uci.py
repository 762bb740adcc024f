"""A UCI engine with material as its only evaluation and a fast start.

`--pid-file FILE` appends its process id there.  It plays no games.
"""

from __future__ import annotations

import os
import sys

OPTIONS = {"Pawn": 100, "Knight": 300, "Bishop": 300, "Rook": 500, "Queen": 900}
LETTERS = {"p": "Pawn", "n": "Knight", "b": "Bishop", "r": "Rook", "q": "Queen"}


def value(fen: str) -> int:
    """Return White's material less Black's."""
    total = 0
    for letter in fen.split()[0]:
        name = LETTERS.get(letter.lower())
        if name is not None:
            total += OPTIONS[name] if letter.isupper() else -OPTIONS[name]
    return total


def main() -> None:
    if "--pid-file" in sys.argv:
        with open(sys.argv[sys.argv.index("--pid-file") + 1], "a") as file:
            file.write(f"{os.getpid()}\n")
    fen = ""
    for line in sys.stdin:
        words = line.split()
        match words[:1]:
            case ["uci"]:
                print("id name Material")
                for name, default in OPTIONS.items():
                    print(f"option name {name} type spin default {default} min 0 max 5000")
                print("uciok")
            case ["isready"]:
                print("readyok")
            case ["setoption"]:
                OPTIONS[words[2]] = int(words[4])
            case ["position"]:
                fen = line.split("fen", 1)[1] if "fen" in words else "8/8/8/8/8/8/8/8 w - - 0 1"
            case ["eval"]:
                print(f"Final evaluation       {value(fen) / 100:+.2f} (white side)")
            case ["quit"]:
                return
        sys.stdout.flush()


if __name__ == "__main__":
    main()

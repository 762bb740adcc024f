"""Write the third-party files of the page's boards: scripts, styles and pieces.

    python scripts/make_boards.py SHOGI_PIECES

Needs npm, and the folder `kanji_light` of a checkout of https://github.com/Ka-hu/shogi-pieces
(commit 7e27005).  `ringmaster/reporting/page/static/boards/README.rst` lists licences.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import urllib.parse
from pathlib import Path

TARGET = Path(__file__).parent.parent / "ringmaster/reporting/page/static/boards"

PACKAGES = (
    "chessground@9.2.1",
    "shogiground@0.10.3",
    "@sabaki/shudan@1.7.1",
    "preact@10.29.8",
    "classnames@2.5.1",
    "chessops@0.15.1",
    "shogiops@0.18.0",
    "@sabaki/go-board@1.4.3",
    "esbuild@0.28.2",
    "svgo@4.1.0",
)
BANNER = (
    "/* chessground 9.2.1, shogiground 0.10.3, chessops 0.15.1, shogiops 0.18.0 "
    "(GPL-3.0-or-later), @sabaki/shudan 1.7.1, @sabaki/go-board 1.4.3, preact 10.29.8, "
    "classnames 2.5.1, @badrap/result 0.3.1 and 0.2.13 (MIT){}; made by scripts/make_boards.py, "
    "see README.rst */"
)
ENTRY = """
import { Chessground } from "chessground";
import { Shogiground } from "shogiground";
import { Goban } from "@sabaki/shudan";
import { h, render } from "preact";
import GoBoard from "@sabaki/go-board";
import * as chess from "./chess.js";
import * as shogi from "./shogi.js";
globalThis.ringmasterBoardParts = { Chessground, Shogiground, Goban, h, render };
globalThis.ringmasterRuleParts = { chess, shogi, GoBoard };
"""
CHESS = """
export { castlingSide } from "chessops/chess";
export { makeFen, parseFen } from "chessops/fen";
export { parseSan } from "chessops/san";
export { kingCastlesTo, makeSquare, parseUci } from "chessops/util";
export { defaultPosition, setupPosition } from "chessops/variant";
"""
SHOGI = """
export { makeCsaHeader, makeCsaMoveOrDrop } from "shogiops/notation/csa";
export { makeWesternEngineMoveOrDrop } from "shogiops/notation/western-engine";
export { initialSfen, makeBoardSfen, makeHandsSfen, makeSfen, parseSfen } from "shogiops/sfen";
export { makeSquareName, parseUsi } from "shogiops/util";
"""
#: Roles of shogiground by the file of a piece of the player at the bottom.
PIECES = {
    "FU": "pawn",
    "KY": "lance",
    "KE": "knight",
    "GI": "silver",
    "KI": "gold",
    "KA": "bishop",
    "HI": "rook",
    "OU": "king",
    "TO": "tokin",
    "NY": "promotedlance",
    "NK": "promotedknight",
    "NG": "promotedsilver",
    "UM": "horse",
    "RY": "dragon",
}


def main() -> None:
    pieces = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        (work / "package.json").write_text("{}")
        run(work, "npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", *PACKAGES)
        bundle = ("node_modules/.bin/esbuild", "--minify", "--bundle", "--legal-comments=none")
        for file, text in (("entry.js", ENTRY), ("chess.js", CHESS), ("shogi.js", SHOGI)):
            (work / file).write_text(text)
        script = run(work, *bundle, "entry.js", "--format=iife", "--target=es2020")
        (work / "entry.css").write_text(styles(work / "node_modules", pieces))
        style = run(work, *bundle, "entry.css", "--loader:.svg=dataurl")
    write("vendor.js", BANNER.format(""), script)
    write("vendor.css", BANNER.format(", pieces kanji_light (CC BY 4.0)"), style)


def styles(modules: Path, pieces: Path) -> str:
    """Return the style sheet that imports all others."""
    goban = modules / "@sabaki/shudan/css/goban.css"
    # its picture of wood has 195 kB
    goban.write_text(goban.read_text().replace("url('./board.png') ", ""))
    sheets = (
        "chessground/assets/chessground.base.css",
        "chessground/assets/chessground.cburnett.css",
    )
    rules = [f'@import "{modules / sheet}";' for sheet in (*sheets, goban)]
    optimiser = modules / ".bin/svgo"
    for code, role in PIECES.items():
        source = str(pieces / f"0{code}.svg")
        svg = run(modules, str(optimiser), "--multipass", "-p", "2", "-i", source, "-o", "-")
        url = urllib.parse.quote(svg.strip(), safe=" =:/,'()-.;<>\"")
        url = re.sub('"', "'", url).replace("<", "%3C").replace(">", "%3E")
        rules.append(
            f".sg-wrap piece.{role}::before, .sg-hand-wrap piece.{role}::before"
            f' {{ background-image: url("data:image/svg+xml,{url}") }}'
        )
    return "\n".join(rules)


def run(folder: Path, *command: str) -> str:
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def write(name: str, banner: str, text: str) -> None:
    (TARGET / name).write_text(f"{banner}\n{text.strip()}\n", encoding="utf-8")
    print(f"{TARGET / name}: {(TARGET / name).stat().st_size:,} bytes")


if __name__ == "__main__":
    main()

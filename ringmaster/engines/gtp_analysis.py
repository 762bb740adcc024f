"""The analysis that an engine gives with its move over GTP.

`kata-genmove_analyze` answers lines such as "info move D4 visits 80 winrate 0.6 scoreLead 2.5
order 0 pv D4 Q16 info move C3 …", perhaps with other fields in another order and with sections
that begin with "rootInfo" or "ownership" (KataGo's GTP_Extensions.md).  Those of
`lz-genmove_analyze` have no lead and winrates of 0 to 10000 (Leela Zero's GTP.cpp).
"""

from __future__ import annotations

import math
import re
from typing import Final

#: The command for each form of analysis, and the winrate of a certain win.
COMMANDS: Final = {
    None: ("", 1.0),
    "kata": ("kata-genmove_analyze", 1.0),
    "lz": ("lz-genmove_analyze", 1e4),
}
#: Centiseconds between two reports: longer than a search, since the last report counts, and both
#: KataGo and Leela Zero give one at the end.
INTERVAL: Final = "360000"
#: The score of a certain win, half of the scale of winrates: hundredths of a percent.
SCORE_OF_CERTAINTY: Final = 10_000

_SECTION: Final = re.compile(rb"(?<!\S)(info|rootInfo|ownership|ownershipStdev)(?!\S)")
_FIELD: Final = re.compile(
    rb"(?<!\S)(move|visits|winrate|scoreLead|scoreMean|order|isSymmetryOf)\s+(\S+)"
)
_PV: Final = re.compile(rb"(?<!\S)pv((?:\s+(?:[A-Za-z]\d{1,2}|pass))+)(?!\S)", re.IGNORECASE)
#: Longer numbers of visits are garbage.
_VISITS: Final = re.compile(rb"\d{1,12}")


def info_line(
    analysis: bytes, move: str, certainty: float, *, is_turned: bool
) -> tuple[bytes, float | None]:
    """Return a line of analysis as an info line of UCI, and the lead in points.

    move       the move that was played
    certainty  the winrate of a certain win
    is_turned  whether winrate and lead are the opponent's

    "score cp" is the winrate of that move above one half, in hundredths of a percent, "nodes"
    the visits of all moves.  Without a winrate the line is b"", without a lead that is None.
    """
    words = _SECTION.split(analysis)
    sections = [
        text for name, text in zip(words[1::2], words[2::2], strict=True) if name == b"info"
    ]
    moves = [(dict(_FIELD.findall(text)), text) for text in sections]
    wanted = move.casefold().encode()

    def rank(candidate: tuple[dict[bytes, bytes], bytes]) -> tuple[bool, bool]:
        fields = candidate[0]
        return fields.get(b"move", b"").lower() != wanted, fields.get(b"order") != b"0"

    fields, text = min(moves, key=rank, default=({}, b""))
    winrate = _number(fields.get(b"winrate"), 0.0, certainty)
    if winrate is None:
        return b"", None
    lead = _number(fields.get(b"scoreLead", fields.get(b"scoreMean")), -1000.0, 1000.0)
    sign = -1 if is_turned else 1
    score = sign * round(SCORE_OF_CERTAINTY * (winrate / certainty - 0.5))
    # moves that are only copied had no visits of their own
    counts = [f.get(b"visits", b"") for f, _ in moves if b"isSymmetryOf" not in f]
    visits = sum(int(count) for count in counts if _VISITS.fullmatch(count))
    pv = _PV.search(text)
    line = b"info nodes %d score cp %d" % (visits, score)
    return line + (b" pv" + pv[1] if pv else b""), None if lead is None else sign * lead


def _number(text: bytes | None, least: float, most: float) -> float | None:
    """Return a number within bounds, None for any other text."""
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) and least <= number <= most else None

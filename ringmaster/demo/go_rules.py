"""Rules of Go as KataGo's `kata-get-rules` and `kata-set-rules` write them."""

from __future__ import annotations

import re
from typing import Literal

import msgspec


class Rules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Rules with KataGo's names and words; by default Tromp-Taylor rules."""

    friendlyPassOk: bool = False  # noqa: N815
    hasButton: bool = False  # noqa: N815
    ko: Literal["SIMPLE", "POSITIONAL", "SITUATIONAL"] = "POSITIONAL"
    scoring: Literal["AREA", "TERRITORY"] = "AREA"
    suicide: bool = True
    tax: Literal["NONE", "SEKI", "ALL"] = "NONE"
    whiteHandicapBonus: Literal["0", "N-1", "N"] = "0"  # noqa: N815

    def changed(self, name: str, word: str) -> Rules:
        """Return the rules with one of them changed.  Raises ValueError."""
        parts = {**msgspec.structs.asdict(self), name: word.upper()}
        return msgspec.convert(parts, Rules, strict=False)


_SHORTHANDS = {
    "tromptaylor": Rules(),
    "chinese": Rules(True, False, "SIMPLE", "AREA", False, "NONE", "N"),
    "chineseogs": Rules(True, False, "POSITIONAL", "AREA", False, "NONE", "N"),
    "chinesekgs": Rules(True, False, "POSITIONAL", "AREA", False, "NONE", "N"),
    "japanese": Rules(True, False, "SIMPLE", "TERRITORY", False, "SEKI", "0"),
    "korean": Rules(True, False, "SIMPLE", "TERRITORY", False, "SEKI", "0"),
    "stonescoring": Rules(True, False, "SIMPLE", "AREA", False, "ALL", "0"),
    "aga": Rules(True, False, "SITUATIONAL", "AREA", False, "NONE", "N-1"),
    "bga": Rules(True, False, "SITUATIONAL", "AREA", False, "NONE", "N-1"),
    "newzealand": Rules(True, False, "SITUATIONAL", "AREA", True, "NONE", "0"),
    "agabutton": Rules(True, True, "SITUATIONAL", "AREA", False, "NONE", "N-1"),
}


def parse_rules(text: str) -> Rules:
    """Return the rules of a shorthand such as "new-zealand", or of JSON.  Raises ValueError."""
    shorthand = _SHORTHANDS.get(re.sub("[-_ ]", "", text.lower()))
    try:
        return shorthand or msgspec.json.decode(text, type=Rules)
    except ValueError as error:
        raise ValueError(f"Unknown rules '{text}'; write chinese, or JSON ({error})") from None

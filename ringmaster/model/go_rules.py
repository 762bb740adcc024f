"""Rules of Go in KataGo's terms (its GTP extensions, `kata-set-rules`)."""

from __future__ import annotations

import json
from typing import Any, Literal

import msgspec

from ringmaster.errors import cut

KoRule = Literal["simple", "positional", "situational"]
Scoring = Literal["area", "territory"]
Tax = Literal["none", "seki", "all"]
Compensation = Literal["no", "full", "short"]

_BONUS: dict[Compensation, str] = {"no": "0", "full": "N", "short": "N-1"}


class Rules(msgspec.Struct, frozen=True):
    """The rules of a game; by default Gomill's, which engines are not told.

    name     as KataGo knows it, "own" for parts, "" for the default
    ko       "positional": no stone brings back an earlier position; "situational": none with the
             same side to move
    scoring  area, or territory and prisoners
    tax      "seki": no points for territory in seki; "all": two points less for each group
    suicide  whether self-capture is allowed
    button   half a point for the first pass
    compensation  White's points for the handicap: a point for each stone, for each but the first
             ("short"), or none
    """

    name: str = ""
    ko: KoRule = "simple"
    scoring: Scoring = "area"
    tax: Tax = "none"
    suicide: bool = True
    button: bool = False
    compensation: Compensation = "full"

    def as_json(self) -> dict[str, Any]:
        """Return the parts as `kata-get-rules` prints them."""
        return {
            "ko": self.ko.upper(),
            "scoring": self.scoring.upper(),
            "tax": self.tax.upper(),
            "suicide": self.suicide,
            "hasButton": self.button,
            "whiteHandicapBonus": _BONUS[self.compensation],
        }

    def handicap_points(self, stones: int) -> int:
        """Return White's points for handicap stones."""
        return {"no": 0, "full": stones, "short": max(0, stones - 1)}[self.compensation]

    @property
    def command(self) -> str:
        """The argument of `kata-set-rules`: a name, or all parts."""
        if NAMED.get(self.name) == self:
            return self.name
        return json.dumps(self.as_json(), separators=(",", ":"))

    def differences(self, answer: str) -> str:
        """Return the parts that an engine's `kata-get-rules` gives otherwise, "" for none."""
        given = read_rules(answer)
        return ", ".join(
            f"{name} {cut(json.dumps(given[name]), 40)}, not {json.dumps(wanted)}"
            for name, wanted in self.as_json().items()
            if given.get(name, wanted) != wanted
        )

    def canonical(self) -> str:
        """Return a text, for the comparison of two runs."""
        return str(self)

    def __str__(self) -> str:
        """Return a name, or the parts in words."""
        if self.name in NAMED:
            return self.name
        suicide = "with" if self.suicide else "no"
        tax = {"none": "", "seki": ", none in seki", "all": ", group tax"}[self.tax]
        button = ", button" if self.button else ""
        return f"{self.ko} ko, {self.scoring} scoring{tax}, {suicide} suicide{button}"


def read_rules(answer: str) -> dict[str, Any]:
    """Return the parts in an answer to `kata-get-rules`, {} for one that cannot be read."""
    try:
        parts = json.loads(answer)
    except (ValueError, RecursionError):
        return {}
    return parts if isinstance(parts, dict) else {}


def _named(name: str, ko: KoRule, compensation: Compensation, **parts: Any) -> Rules:
    return Rules(name, ko, compensation=compensation, **{"suicide": False, **parts})


#: The names of KataGo, but for its second names of the same rules.
NAMED = {
    rules.name: rules
    for rules in (
        _named("tromp-taylor", "positional", "no", suicide=True),
        _named("chinese", "simple", "full"),
        _named("chinese-ogs", "positional", "full"),
        _named("japanese", "simple", "no", scoring="territory", tax="seki"),
        _named("korean", "simple", "no", scoring="territory", tax="seki"),
        _named("aga", "situational", "short"),
        _named("bga", "situational", "short"),
        _named("aga-button", "situational", "short", button=True),
        _named("new-zealand", "situational", "no", suicide=True),
        _named("stone-scoring", "simple", "no", tax="all"),
        _named("ancient-territory", "simple", "no", scoring="territory", tax="all"),
    )
}

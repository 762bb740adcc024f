"""Rules of Go in the arguments of `kata-set-rules` and `kata-set-rule`."""

from __future__ import annotations

from typing import Any

import msgspec

from ringmaster.model.go_rules import NAMED, Rules, read_rules

_FIELDS = {"hasButton": "button", "whiteHandicapBonus": "compensation"}
_BONUSES = {"0": "no", "N-1": "short", "N": "full"}


def parse_rules(text: str) -> Rules:
    """Return the rules of one of KataGo's names, or of JSON.  Raises ValueError."""
    # KataGo has the same rules for both servers
    name = text.lower().replace("_", "-").replace("chinese-kgs", "chinese-ogs")
    if name in NAMED:
        return NAMED[name]
    parts = read_rules(text)
    if not parts:
        raise ValueError(f"Unknown rules '{text}'; write chinese, another name, or JSON")
    return change_rules(NAMED["tromp-taylor"], parts)


def change_rules(rules: Rules, parts: dict[str, Any]) -> Rules:
    """Return rules with some parts changed.  Raises ValueError."""
    # the engine captures dead stones before it passes in any case
    unknown = parts.keys() - rules.as_json().keys() - {"friendlyPassOk"}
    if unknown:
        raise ValueError(f"Unknown rules option: {' '.join(unknown)}")
    values = msgspec.structs.asdict(rules)
    for name, value in parts.items():
        word = str(value)
        values[_FIELDS.get(name, name)] = _BONUSES.get(word.upper(), word.lower())
    return msgspec.convert(values, Rules, strict=False)

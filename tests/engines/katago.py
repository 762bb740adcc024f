"""A GTP engine that answers as KataGo does, with its errors.

Sources: KataGo's GTP_Extensions.md, gtp.cpp and rules.cpp.  It plays as fault_gtp.py does; the
head of FLAGS has its own flags, and those of fault_gtp.py work too (--fail kata-set-rules:TEXT).
A line of analysis has three groups: the move, a mirror image that was not searched, and a pass.
The score takes no notice of the rules.
"""

from __future__ import annotations

import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import fault_gtp
from fault_gtp import GtpEngine, Refused
from flags import Table, parse
from go_board import vertex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FLAGS: Table = {
    **fault_gtp.FLAGS,
    "start-after": ("FIFO", str, "", "answer nothing until FIFO was opened for writing and closed"),
    "lines": ("N", int, 2, "lines of analysis before each move"),
    "analysis-line": ("TEXT", str, None, "each line of analysis is this, word for word"),
    "winrate": ("P", float, 0.52, "winrate of the mover, from 0 to 1"),
    "no-play-at": ("N", int, 0, "the N-th move after an analysis lacks its line"),
    "dead": ("VERTICES", str, "", "the answer to final_status_list dead"),
}
RULES = {
    "ko": ("SIMPLE", "POSITIONAL", "SITUATIONAL"),
    "scoring": ("AREA", "TERRITORY"),
    "suicide": ("TRUE", "FALSE"),
    "tax": ("NONE", "SEKI", "ALL"),
    "whiteHandicapBonus": ("0", "N-1", "N"),
    "friendlyPassOk": ("TRUE", "FALSE"),
    "hasButton": ("TRUE", "FALSE"),
}
SHORTHANDS = {
    "tromp-taylor": "POSITIONAL AREA TRUE NONE 0 FALSE FALSE",
    "chinese": "SIMPLE AREA FALSE NONE N TRUE FALSE",
    "chinese-ogs": "POSITIONAL AREA FALSE NONE N TRUE FALSE",
    "chinese-kgs": "POSITIONAL AREA FALSE NONE N TRUE FALSE",
    "japanese": "SIMPLE TERRITORY FALSE SEKI 0 TRUE FALSE",
    "korean": "SIMPLE TERRITORY FALSE SEKI 0 TRUE FALSE",
    "stone-scoring": "SIMPLE AREA FALSE ALL 0 TRUE FALSE",
    "aga": "SITUATIONAL AREA FALSE NONE N-1 TRUE FALSE",
    "bga": "SITUATIONAL AREA FALSE NONE N-1 TRUE FALSE",
    "new-zealand": "SITUATIONAL AREA TRUE NONE 0 TRUE FALSE",
    "aga-button": "SITUATIONAL AREA FALSE NONE N-1 TRUE TRUE",
}
CLOCKS = {"none": 0, "absolute": 1, "byoyomi": 3, "canadian": 3, "fischer": 2, "fischer-capped": 4}
Rules = dict[str, str]


class KataGo(GtpEngine):
    def __init__(self, flags: dict[str, Any]) -> None:
        super().__init__(flags)
        self._rules = named("tromp-taylor")
        self._params = {"maxVisits": "500", "maxPlayouts": str(1 << 50), "numSearchThreads": "6"}
        self._commands |= {
            "name": lambda words: "KataGo",
            "kata-genmove_analyze": lambda words: self._analysed(words, is_kata=True),
            "lz-genmove_analyze": lambda words: self._analysed(words, is_kata=False),
            "kata-get-rules": lambda words: as_json(self._rules),
            "kata-set-rules": self._set_rules,
            "kata-set-rule": self._set_rule,
            "kata-list-params": lambda words: " ".join(self._params),
            "kata-get-param": self._get_param,
            "kata-set-param": self._set_param,
            "kata-list_time_settings": lambda words: " ".join(CLOCKS),
            "kata-time_settings": self._set_clock,
            "final_status_list": self._final_status_list,
        }
        for name in flags["no-command"]:
            self._commands.pop(name, None)

    def run(self) -> None:
        if self._flags["start-after"]:
            with open(self._flags["start-after"], "rb") as fifo:
                fifo.read()
        super().run()

    def _analysed(self, words: list[str], *, is_kata: bool) -> str:
        options = words[2:] if words[1:] and words[1].isdigit() else words[1:]
        known = ["interval", "minmoves", "maxmoves"] + ["rootInfo", "ownership"] * is_kata
        if not words or len(options) % 2 or not set(options[::2]).issubset(known):
            problem = "Could not parse genmove_analyze arguments or arguments out of range"
            raise Refused(f"{problem}: '{' '.join(words)}'")
        move = self._genmove(words)
        line = self._flags["analysis-line"]
        if line is None:
            line = self._line("pass" if move == "resign" else move, options, is_kata)
        lines = ["", *[line] * self._flags["lines"]]
        if self._moves != self._flags["no-play-at"]:
            lines.append(f"play {move}")
        return "\n".join(lines)

    def _line(self, move: str, options: list[str], is_kata: bool) -> str:
        mirrored = move
        if move != "pass":
            column, row = self._board.point(move)
            mirrored = vertex((self._board.size - 1 - column, row))
        groups = []
        for order, (name, visits) in enumerate([(move, 300), (mirrored, 150), ("pass", 1)]):
            chance, prior = self._flags["winrate"] * (1 - order / 100), 0.5 / (order + 1)
            values = f"winrate {10000 * chance:.0f} prior {10000 * prior:.0f} lcb 5100"
            if is_kata:
                symmetry = f" isSymmetryOf {move}" if order == 1 else ""
                values = (
                    f"edgeVisits {visits} utility -3.1e-05 winrate {chance:g} scoreMean 1.25"
                    f" scoreStdev 24.5 scoreLead 1.25 scoreSelfplay 1.5 prior {prior:g} lcb 0.51"
                    f" utilityLcb 0.01 weight 12.5 undocumented 3{symmetry}"
                )
            groups.append(f"info move {name} visits {visits} {values} order {order} pv {name}")
        if "rootInfo" in options:
            groups.append(f"rootInfo visits 451 winrate {self._flags['winrate']:g} utility 0.03")
        if "ownership" in options:
            groups.append("ownership " + " ".join(["0.5"] * self._board.size**2))
        return " ".join(groups)

    def _set_rules(self, words: list[str]) -> str:
        text = " ".join(words)
        name = text.lower().replace("_", "-").replace(" ", "-")
        if name in SHORTHANDS:
            return self._take(named(name))
        try:
            parts = json.loads(text)
            rules = named("tromp-taylor")
            rules["tax"] = "SEKI" if parts.get("scoring") == "TERRITORY" else "NONE"
            for rule, value in parts.items():
                word = str(value).upper() if isinstance(value, bool) else value
                rules = changed(rules, rule, word)
        except (ValueError, AttributeError):
            raise Refused(f"Unknown rules '{text}', Could not parse rules: {text}") from None
        except Refused as error:
            raise Refused(f"Unknown rules '{text}', {error}") from None
        return self._take(rules)

    def _set_rule(self, words: list[str]) -> str:
        name, word = words
        return self._take(changed(self._rules, name, word.upper()))

    def _take(self, rules: Rules) -> str:
        if rules["scoring"] == "TERRITORY" and rules["hasButton"] == "TRUE":
            raise Refused(f"Rules {as_json(rules)} are not supported by this neural net version")
        self._rules = rules
        return ""

    def _get_param(self, words: list[str]) -> str:
        if words[0] not in self._params:
            raise Refused(f"Invalid parameter: {words[0]}")
        return self._params[words[0]]

    def _set_param(self, words: list[str]) -> str:
        name, value = words
        if name not in self._params:
            problem = "Unrecognized or non-overridable parameter in kata-set-params"
            raise Refused(f"Could not set params: {problem}: {name}")
        if not (value.isdigit() and 1 <= int(value) <= 1 << 50):
            raise Refused(f"Could not set params: Could not parse '{value}' as int64_t for {name}")
        self._params[name] = value
        return ""

    def _set_clock(self, words: list[str]) -> str:
        if not words or len(words) <= CLOCKS.get(words[0], len(words)):
            kinds = "', '".join(CLOCKS)
            raise Refused(f"Expected '{kinds}' as first argument for kata-time_settings")
        return ""

    def _final_status_list(self, words: list[str]) -> str:
        dead = self._flags["dead"].split()
        alive = [name for name in map(vertex, self._board.stones) if name not in dead]
        return " ".join({"alive": alive, "seki": [], "dead": dead}[words[0]])


def named(name: str) -> Rules:
    return dict(zip(RULES, SHORTHANDS[name].split(), strict=True))


def changed(rules: Rules, name: str, word: str) -> Rules:
    if name not in RULES:
        raise Refused(f"Unknown rules option: {name}")
    if word not in RULES[name]:
        raise Refused(f"Rules::parseRule: Invalid {name} rule: {word}")
    return {**rules, name: word}


def as_json(rules: Rules) -> str:
    values = {name: {"TRUE": True, "FALSE": False}.get(word, word) for name, word in rules.items()}
    return json.dumps(values, sort_keys=True, separators=(",", ":"))


if __name__ == "__main__":
    KataGo(parse(sys.argv[1:], __doc__ or "", FLAGS)).run()

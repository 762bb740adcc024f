"""Import a configuration of `katago match`: its bots become players of KataGo over GTP.

Keys that are not of games go to -override-config: KataGo reports unknown ones when it starts.
Source of the keys: KataGo's match_example.cfg, play.cpp and match.cpp.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations

from ringmaster.control.python_text import Call
from ringmaster.errors import ParameterFileError, UsageError
from ringmaster.parameter_files.entries import plain
from ringmaster.parameter_files.text import Text
from ringmaster.scaffold.control_file import Match, Places
from ringmaster.scaffold.foreign_values import choice, integer, real

_LINE = re.compile(r'(?:([\w-]+)\s*=\s*("[^"]+"\s*|[^"#\s][^#]*))?(?:#.*)?')
#: The bot of a key.
_BOT = re.compile(r"(?<!\d)(?<!FP)(?<!Model)(?<!Thread)\d+$")
#: Beginnings of keys of games that are not imported, with the reason.
_OF_GAMES = {
    "log": "every run writes a log",
    "bSize|allowRect": "boards are square, and of one size",
    "handicap|numExtraBlack": "there are no handicaps; Matchup(…, handicap=2) gives one",
    "komi": "komi is the same in all games, 7.5 without komiMean",
    "policyInit|compensate|initGames|startPoses|hintPoses": "games begin from the empty board; "
    "`openings` has other positions",
    "includeBots|extraPairs": "write the pairs as Matchup(…)",
    "blackPriority": "colours are swapped from game to game",
    r"\w+ToUseModel": "a player has one network; write the key without it to -override-config",
}
#: Keys without effect by themselves, and values that switch a key off.
_IDLE = re.compile("log|bSizeRel|handicapComp|policyInit|compensate|.* = (?:[Ff]alse|[0.]+)$")


def recognises(text: Text) -> bool:
    """Return whether a file is a configuration of a match, which has numBots."""
    return re.search(r"^\s*numBots\s*=", text.text, re.MULTILINE) is not None


def import_files(texts: Sequence[Text], places: Places) -> Match:
    """Return the match of one configuration.  Raises ParameterFileError, UsageError."""
    (text,) = texts
    match = Match(origin=text.name, game="go", assumed=[*text.notes])
    values, where = _values(text), f"import: {text.name}"

    def first(key: str, *words: str) -> str:
        """Return the first of a key's values, from which KataGo draws: one of `words`."""
        if key not in values:
            raise UsageError(f"{where} has no {key}")
        whole = values.pop(key)
        value, *others = whole.lower().replace(" ", "").split(",")
        if others:
            match.different.append(f"{key} = {whole}: all games have {value}")
        return choice(value, f"{where}: {key}", *words) if words else value

    def number(key: str, least: int = 1, most: int = 10**6) -> int:
        return integer(first(key), f"{where}: {key}", least, most)

    rules = {
        "ko": first("koRules", "simple", "positional", "situational"),
        "scoring": first("scoringRules", "area", "territory"),
        "tax": first("taxRules", "none", "seki", "all"),
        "suicide": first("multiStoneSuicideLegals", "false", "true") == "true",
        "button": first("hasButtons", "false", "true") == "true",
    }
    bots = range(number("numBots", 2, 1000))
    secondary = {int(bot) for bot in re.findall(r"\d{1,9}", values.pop("secondaryBots", ""))}
    pairs = [pair for pair in combinations(bots, 2) if not secondary.issuperset(pair)]
    if not pairs:
        raise UsageError(f"{where}: secondaryBots: no two bots play each other")
    games = -(-number("numGamesTotal", 1, 10**12) // len(pairs))
    match.parallel = number("numGameThreads")
    match.settings = {
        "board_size": number("bSizes", 2, 25),
        "komi": plain(real(values.pop("komiMean", "7.5"), f"{where}: komiMean")),
        # KataGo's names of rules allow passing before dead stones are captured; a match does not
        "rules": Call("Rules", (), rules),
        "move_limit": number("maxMovesPerGame"),
    }
    for start, reason in _OF_GAMES.items():
        for key in filter(re.compile(start).match, [*values]):
            line = f"{key} = {values.pop(key)}"
            if _IDLE.match(line):
                match.note(f"{line} ({reason})")
            else:
                match.different.append(f"{line}: {reason}")
    codes = [_player(bot, values, match, places) for bot in bots]
    if len(bots) > 2 and not secondary:
        match.type_name = "allplayall"
        match.settings |= {"competitors": codes, "rounds": games}
    else:
        matchups = [Call("Matchup", (codes[one], codes[other])) for one, other in pairs]
        match.settings |= {"number_of_games": games, "alternating": True, "matchups": matchups}
    match.different.append("each player of a game is a process with a network in the GPU's memory")
    match.assumed += [
        "katago is on PATH, and gtp.cfg is in this folder",
        "gtp.cfg has no searchFactorWhenWinning and the like, which a match does not have",
    ]
    return match


def _values(text: Text) -> dict[str, str]:
    """Return the values by key.  Raises ParameterFileError."""
    values = {}
    for number, line in enumerate(text.lines, 1):
        entry = _LINE.fullmatch(line.strip())
        if entry is None:
            message = f"{text.name}:{number}: this is not KEY = VALUE"
            raise ParameterFileError(message, [text.excerpt(number)])
        if entry[1]:
            values[entry[1]] = entry[2].strip().strip('"')
    return values


def _player(bot: int, values: dict[str, str], match: Match, places: Places) -> str:
    """Add the player of a bot; return its code.  Raises UsageError."""
    keys = [(key, _BOT.sub("", key)) for key in values]
    own = {name: values[key] for key, name in keys if key == name}
    # a bot's own values replace those of all
    own |= {name: values[key] for key, name in keys if key == f"{name}{bot}"}
    for key in ("botName", "nnModelFile"):
        if key not in own:
            raise UsageError(f"import: {match.origin} has no {key}{bot}")
    name, model = own.pop("botName"), places.file(own.pop("nnModelFile"))
    limits = {
        limit: integer(own.pop(key), f"import: {match.origin}: {key}", 1)
        for key, limit in (("maxVisits", "visits"), ("maxPlayouts", "playouts"))
        if key in own
    }
    override = ",".join(f"{key}={value}" for key, value in own.items())
    words = ["katago", "gtp", "-model", model, "-config", "gtp.cfg", "-override-config", override]
    return match.enter(name, words if own else words[:-2], {"cwd": ".", **limits})

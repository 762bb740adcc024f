"""`ringmaster import engines.json`: the list of engines that Cute Chess keeps.

The list says nothing of games: the control file gets a clock and a tournament that
are easy to change.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from ringmaster.errors import UsageError
from ringmaster.model.wording import is_text, shown
from ringmaster.scaffold.match import Match, Places
from ringmaster.scaffold.text import printable

if TYPE_CHECKING:
    from ringmaster.scaffold.contestants import Contestant

#: What the list says of how Cute Chess handles an engine, and what does it here.
_NOTED = {
    "stderrFile": "what engines print on standard error is in the log",
    "validateClaims": "UCI engines claim nothing",
    "debug": "`run --log-gtp` writes transcripts",
    "timeoutScale": "hang_timeout and ready_timeout say how long to wait",
    "rating": "ratings are worked out from the games",
}


def recognises(data: bytes) -> bool:
    """Whether a file may be a list of engines: a JSON list."""
    return data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"["


def import_engines(data: bytes, origin: str, places: Places) -> Match:
    """Return a tournament of the engines.  Raises UsageError when fewer than two
    of them can be taken."""
    from ringmaster.scaffold.contestants import Contestant

    try:
        entries = json.loads(data.removeprefix(b"\xef\xbb\xbf"))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{origin} is not a list of engines: {error}") from None
    match = Match(origin=origin)
    for number, entry in enumerate(entries, 1):
        if not isinstance(entry, dict):
            match.note(f"engine {number}: it is not an object with a command")
            continue
        contestant = Contestant(number)
        reason = take_entry(contestant, entry, match)
        if not reason:
            try:
                contestant.control = "10+0.1"
                contestant.enter(match, places, True)
                continue
            except UsageError as error:
                reason = str(error)
        match.note(f"engine {_title(entry, number)}: {reason}")
    if len(match.entrants) < 2:
        told = "".join(f"; {note}" for note in match.notes)
        raise UsageError(f"fewer than two engines of {origin} can be taken{told}")
    _tournament(match)
    return match


def _tournament(match: Match) -> None:
    from ringmaster.scaffold.text import Call

    codes = match.codes()
    if len(codes) == 2:
        match.settings["number_of_games"] = 100
        match.settings["matchups"] = [Call("Matchup", tuple(codes))]
    else:
        match.type_name = "allplayall"
        match.settings["competitors"] = codes
        match.settings["rounds"] = 20
        match.comments["rounds"] = "Games of each pairing."


def _title(entry: dict[str, Any], number: int) -> str:
    name = entry.get("name")
    return printable(name)[:60] if isinstance(name, str) and name else str(number)


def take_entry(contestant: Contestant, entry: dict[str, Any], match: Match) -> str:
    """Take one engine of the list; returns why it cannot be taken, "" if it can.

    What is only a matter of how Cute Chess handles it becomes a note.
    """
    title = _title(entry, contestant.number)
    if str(entry.get("protocol")).lower() != "uci":
        return f"it speaks {shown(entry.get('protocol'))}, only uci is spoken here"
    for key, value in entry.items():
        if key in ("name", "command", "workingDirectory"):
            if not isinstance(value, str) or not is_text(value):
                return f"its {key} is {shown(value)}"
        elif key in _NOTED:
            if value:
                match.note(f"engine {title}: {key} ({_NOTED[key]})")
        elif key not in _FIELDS:
            match.note(f"engine {title}: {shown(key)}, which is not known here")
    contestant.name = entry.get("name", "")
    contestant.command = entry.get("command", "")
    contestant.directory = entry.get("workingDirectory", "")
    arguments = entry.get("arguments") or []
    if not isinstance(arguments, list) or not all(
        isinstance(a, str) and is_text(a) for a in arguments
    ):
        return f"its arguments are {shown(arguments)}"
    contestant.arguments = list(arguments)
    contestant.ponder = entry.get("ponder") is True
    if entry.get("restart") in ("on", "off"):
        contestant.restart = entry["restart"]
    contestant.white_view = entry.get("whitepov") is True
    variants = entry.get("variants") or []
    if variants:
        named = variants if isinstance(variants, list) else [variants]
        match.note(f"engine {title}: variants ({printable(', '.join(map(str, named)))})"[:300])
    lines = entry.get("initStrings") or []
    try:
        for line in lines if isinstance(lines, list) else [lines]:
            contestant.startup_line(str(line), "initStrings")
    except UsageError as error:
        return str(error)
    _take_options(contestant, entry.get("options") or [], title, match)
    return ""


_FIELDS = frozenset(
    {
        "protocol",
        "arguments",
        "ponder",
        "restart",
        "whitepov",
        "variants",
        "initStrings",
        "options",
    }
)


def _take_options(contestant: Contestant, options: Any, title: str, match: Match) -> None:
    """Take the options that differ from the engine's defaults."""
    if not isinstance(options, list):
        match.note(f"engine {title}: options that are no list")
        return
    for option in options:
        name = option.get("name") if isinstance(option, dict) else None
        if not isinstance(name, str) or not name.strip() or not name.isprintable():
            match.note(f"engine {title}: an option without a name that can be written")
            continue
        value = option.get("value")
        if option.get("type") == "button" or value is None or value == option.get("default"):
            continue  # a button is pressed by hand; the rest is as the engine has it
        fits = isinstance(value, bool | int | float) or (
            isinstance(value, str) and is_text(value) and (value.isprintable() or not value)
        )
        if not fits or (isinstance(value, float) and not math.isfinite(value)):
            match.note(f"engine {title}: option {shown(name)}, which is {shown(value)}")
            continue
        contestant.options[name] = value

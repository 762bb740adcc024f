"""Import a match of gogui-twogtp from its command line.

Notes and refusals are as for fastchess.  Source of the options: GoGui's manual and source.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence

from ringmaster.control.python_text import Call
from ringmaster.errors import UsageError, nearest, shown
from ringmaster.parameter_files.entries import plain
from ringmaster.scaffold.control_file import Match, Places
from ringmaster.scaffold.foreign_values import Option, command_words, integer, options, real

_TIME = re.compile(r"(\d{1,9})(m|min|s|sec)?(?:\+(\d{1,9})(m|min|s|sec)?/(\d{1,9}))?", re.ASCII)
_READ = (
    *("-alternate", "-auto", "-black", "-games", "-handicap", "-komi", "-maxmoves", "-openings"),
    *("-referee", "-size", "-threads", "-time", "-white"),
)
#: Options without effect on the match, with the counterpart here.
_IGNORED = {
    **dict.fromkeys(("-observer", "-verbose"), "`run --log-gtp` writes transcripts"),
    "-debugtocomment": "the log has the engines' standard error",
    "-force": "results stay until `reset` deletes them",
    "-sgffile": "the records have the name of the control file",
    "-xml": "records are SGF",
}
#: Options without a match.
_REFUSED = {
    **dict.fromkeys(("-analyze", "-compare", "-help", "-version"), "it plays no match"),
    "-config": "the options are in that file; write them on the command line",
}


def program_length(words: Sequence[str]) -> int:
    """Return the number of words before the options, `java -jar` too; 0 for another program."""
    length = words.index("-jar") + 2 if "-jar" in words else 1
    name = os.path.basename("".join(words[length - 1 : length]))
    return length if re.fullmatch(r"(?:gogui-)?twogtp(?:\.jar)?", name) else 0


def import_command_line(words: Sequence[str], places: Places) -> Match:
    """Return the match of a command line.  Raises UsageError."""
    match = Match(origin=shlex.join(words), game="go")
    given = {option.name: option for option in options(words[program_length(words) :])}
    for name, option in given.items():
        if name in _REFUSED:
            raise UsageError(f"{name}: {_REFUSED[name]}")
        if name in _IGNORED:
            match.note(f"{option} ({_IGNORED[name]})")
        elif name not in _READ:
            known = nearest(name, (*_READ, *_IGNORED))
            message = f"gogui-twogtp has no option {shown(name)}; expected {known}"
            raise UsageError(f"{message}, or quotes around the command of an engine")

    def value(name: str, default: str = "") -> str:
        return given.get(name, Option(name, (default,))).single()

    def command(name: str) -> list[str]:
        return places.command(command_words(value(name), name))

    limits = {}
    if "-time" in given:
        limits["time_control"] = _time_control(value("-time"))
        match.different.append("an engine that exceeds its clock loses; gogui-twogtp has no clock")
    players = [match.enter("", command(name), limits) for name in ("-black", "-white")]
    most, handicap = value("-maxmoves", "1000"), value("-handicap", "0")
    match.parallel = integer(value("-threads", "1"), "-threads", 1, 10**6)
    match.settings = {
        "number_of_games": integer(value("-games", "1"), "-games", 0, 10**9) or None,
        "alternating": "-alternate" in given,
        "board_size": integer(value("-size", "19"), "-size", 2, 25),
        "komi": plain(real(value("-komi", "6.5"), "-komi")),
        "move_limit": 10**6 if most == "-1" else integer(most, "-maxmoves", 1, 10**6),
        "matchups": [Call("Matchup", tuple(players))],
    }
    if handicap != "0":
        match.settings["handicap"] = integer(handicap, "-handicap", 2, 9)
    if "-referee" in given:
        referee = match.enter("", command("-referee"), {}, "referee")
        match.settings |= {"scorer": "referee", "referee": referee}
    if "-openings" in given:
        files = f"{shlex.quote(places.file(value('-openings')))}/*.sgf"
        match.settings["openings"] = Call("Openings", ("openings.sgf",))
        match.different.append(f"openings are in one file; join them: cat {files} > openings.sgf")
    return match


def _time_control(text: str) -> str:
    """Return base[+overtime/moves], in minutes unless it says seconds, for a control file."""
    parts = _TIME.fullmatch(text.replace(" ", ""))
    if parts is None:
        raise UsageError(f"-time: {shown(text)} is not base time[+overtime/moves], as 10m+30s/5")
    base, period = (int(parts[i] or 0) * (1 if "s" in (parts[i + 1] or "") else 60) for i in (1, 3))
    return f"{base}+{parts[5]}/{period}" if parts[5] else f"{base}"

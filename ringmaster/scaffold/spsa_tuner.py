"""Import a tune with its engine: an SPSA Tuner .conf with its variables.

Source of the options: the README and the program (spsa.pl).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from configparser import Error as ConfigParserError
from configparser import RawConfigParser

from ringmaster.control.python_text import Call
from ringmaster.errors import ParameterFileError, UsageError, nearest, shown
from ringmaster.model.time_control import number
from ringmaster.parameter_files.entries import plain
from ringmaster.parameter_files.formats import read_file
from ringmaster.parameter_files.text import Text
from ringmaster.scaffold.control_file import Match, Places
from ringmaster.scaffold.foreign_values import command_words, integer, real, time_control
from ringmaster.scaffold.parameter_import import add_parameters, add_placeholder, practise

#: Integer options of [Engine] with their bounds.
_PLAY = {
    **{"BaseTime": (0, 10**9), "IncTime": (0, 10**9), "Concurrency": (1, 10**6)},
    **{"DrawScoreLimit": (0, 10**12), "DrawMoveLimit": (1, 10**12)},
    **{"WinScoreLimit": (0, 10**12), "WinMoveLimit": (1, 10**12)},
}
#: Needed options by section; a simulation needs no [Engine].
_NEEDED = {
    "Main": ("Variables", "Iterations", "A", "Gamma", "Alpha"),
    "Engine": ("Engine1", "Engine2", "EPDBook", *_PLAY),
}
#: Options without effect here, with the counterpart.
_IGNORED = {
    "Log": "`export --trajectory` has its columns",
    "GameLog": "`run --log-gtp` writes transcripts",
    "MaxDepth": "SPSA Tuner does not read it",
}

#: Seconds; more than a working engine exceeds its clock.
MARGIN = 9

Sections = dict[str, dict[str, str]]


def recognises(text: Text) -> bool:
    """Return whether a file has a section [Main]."""
    return re.search(r"^\s*\[\s*Main\s*\]\s*$", text.text, re.MULTILINE) is not None


def import_files(texts: Sequence[Text], places: Places) -> Match:
    """Return the tune of a configuration, and of its variables if the user names them too.

    Raises UsageError, ParameterFileError.
    """
    text, *more = filter(recognises, texts)
    others = [other for other in texts if other is not text]
    if more or len(others) > 1:
        raise UsageError("import: expected one .conf of the SPSA Tuner, and its .var at most")
    sections = _sections(text)
    match = Match(origin=", ".join(each.name for each in texts), type_name="spsa")
    simulated = sections["Main"].get("Simulate", "0") not in ("", "0")
    where = f"import: {text.name}"
    for section, needed in _NEEDED.items():
        missing = [option for option in needed if not sections[section].get(option)]
        if missing and not (simulated and section == "Engine"):
            similar = [option for option in sections[section] if option not in needed]
            hint = f"; it has {nearest(missing[0], similar)}" if similar else ""
            raise UsageError(f"{where}: [{section}] has no {missing[0]}{hint}")
    given = sections["Main"]["Variables"]
    try:
        variables_text = others[0] if others else Text.read(places.source / given, given)
    except ParameterFileError as error:
        raise UsageError(
            f"import: cannot read the variables {shown(given)}: {error}; expected them beside the "
            "configuration, or named after it"
        ) from None
    variables = read_file(variables_text)
    if variables.format != "spsa_tuner":
        raise UsageError(f"{where}: its variables are not SPSA Tuner's: {variables.format}")
    match.assumed += [*text.notes, *variables.notes]
    if simulated:
        add_placeholder(match, "engine")
        match.assumed.append("the file is a simulation without an engine; `simulate` needs none")
    match.settings["player"] = "engine"
    add_parameters(variables, match)
    _main(where, sections["Main"], match)
    if not simulated:
        _play(where, sections["Engine"], match, places)
    for section, options in sections.items():
        for option, value in options.items():
            if option in _IGNORED:
                match.note(f"{option} = {value} ({_IGNORED[option]})")
            elif option not in ("Simulate", *_NEEDED.get(section, ())):
                match.note(f"[{section}] {option} = {value} (the SPSA Tuner has no such option)")
    return match


def _sections(text: Text) -> Sections:
    """Return the options by section.  Raises UsageError."""
    parser = RawConfigParser(delimiters="=", default_section="")
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    try:
        # an indented line would continue a value
        parser.read_string("\n".join(map(str.strip, text.lines)), text.name)
    except ConfigParserError as error:
        raise UsageError(f"import: {error}") from None
    sections = {name.strip(): dict(parser[name]) for name in parser.sections()}
    return {"Main": {}, "Engine": {}, **sections}


def _main(where: str, main: Mapping[str, str], match: Match) -> None:
    values = {option: real(main[option], f"{where}: {option}") for option in _NEEDED["Main"][-3:]}
    for option, value in values.items():
        if value < 0 or (option != "A" and value > 10):
            raise UsageError(f"{where}: {option} {value:g} is out of range")
    practise("spsa_tuner", match)
    del match.settings["A_ratio"]
    match.settings |= {
        "number_of_games": 2 * integer(main["Iterations"], f"{where}: Iterations", 1, 5 * 10**8),
        "alpha": values["Alpha"],
        "gamma": values["Gamma"],
        "A": plain(values["A"]),
    }
    match.comments["number_of_games"] = "Two games an iteration."


def _play(where: str, engine: Mapping[str, str], match: Match, places: Places) -> None:
    """Add the engine, its clock, the book and the adjudication."""
    values = {
        option: integer(engine[option], f"{where}: {option}", *bounds)
        for option, bounds in _PLAY.items()
    }
    base, increment = (number(values[name] / 1000) for name in ("BaseTime", "IncTime"))
    control = time_control(f"{base}+{increment}", f"{where}: BaseTime, IncTime")
    words = places.command(command_words(engine["Engine1"], f"{where}: Engine1"))
    match.enter("", words, {"time_control": control}, "engine")
    if engine["Engine2"] != engine["Engine1"]:
        match.different.append(
            f"Engine1 plays both sides; the SPSA Tuner also starts Engine2: {engine['Engine2']}"
        )
    book = engine["EPDBook"]
    format = {} if book.lower().endswith((".epd", ".fen")) else {"format": "epd"}
    # SPSA Tuner counts plies of both sides, ringmaster moves of each side
    draw_moves, win_moves = (math.ceil(values[f"{end}MoveLimit"] / 2) for end in ("Draw", "Win"))
    draw = {"move_number": 0, "move_count": draw_moves, "score": values["DrawScoreLimit"]}
    win = {"move_count": win_moves, "score": max(1, values["WinScoreLimit"]), "two_sided": True}
    match.settings |= {
        # its clocks never end a game
        "margin": MARGIN,
        "openings": Call("Openings", (places.file(book),), {"order": "random", **format}),
        "draw_adjudication": Call("DrawAdjudication", (), draw),
        "resign_adjudication": Call("ResignAdjudication", (), win),
    }
    match.comments["margin"] = (
        "SPSA Tuner has no losses on time.  Seconds an engine may exceed its clock."
    )
    match.different += [
        "openings are drawn without replacement, until all have been played",
        "a capture or a pawn move restarts the count for a draw; the count is of moves by both "
        "sides, not of plies",
    ]
    match.parallel = values["Concurrency"]

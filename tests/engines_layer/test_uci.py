"""UCI exchanges as scripted dialogues; a comment names the engine of a quirk."""

from __future__ import annotations

import pytest

from ringmaster.engines.engine import Limits
from ringmaster.engines.uci import UciEngine
from ringmaster.engines.uci_messages import (
    Go,
    Handshake,
    OptionDeclaration,
    Ready,
    read_info,
    read_score,
    score_line,
)
from ringmaster.errors import EngineProtocolError, OptionRefused
from tests.engines_layer.gtp_dialogue import converse


@pytest.mark.parametrize(
    ("protocol", "answer", "other"),
    [
        ("usi", "Unknown command: 'usi'. Type help for more information.", ""),  # Stockfish
        ("usi", "Unknown command: usi", ""),  # Glaurung
        ("uci", "? unknown command", " as over GTP, the protocol of Go"),  # GNU Go
    ],
)
def test_engine_of_another_protocol_is_told_at_once(protocol: str, answer: str, other: str) -> None:
    with pytest.raises(EngineProtocolError) as caught:
        converse(Handshake(protocol), "an engine", answer)
    said = f"it does not speak {protocol.upper()}: it answers {answer!r}{other}"
    assert str(caught.value) == said


def test_other_unknown_commands_are_no_part_of_the_handshake() -> None:
    shake = Handshake()
    converse(shake, "Unknown command: 'xboard'", "id name X", "uciok")
    assert shake.name == "X"


def test_handshake_collects_name_and_options() -> None:
    shake = Handshake()
    assert shake.request == b"uci\n"
    rest = converse(
        shake,
        "Stockfish 15.1 by the Stockfish developers (see AUTHORS file)",  # a greeting
        "id name Stockfish 15.1",
        "id author the Stockfish developers (see AUTHORS file)",
        "",
        "option name Debug Log File type string default ",
        "option name Threads type spin default 1 min 1 max 1024",
        "option name Clear Hash type button",
        "option name Ponder type check default false",
        "uciok",
        "late",
    )
    assert rest == ["late"]
    assert shake.name == "Stockfish 15.1"
    assert [o.name for o in shake.options.values()] == [
        "Debug Log File",
        "Threads",
        "Clear Hash",
        "Ponder",
    ]
    assert shake.options["threads"] == OptionDeclaration("Threads", "spin", "1", 1, 1024)


@pytest.mark.parametrize(
    ("line", "option"),
    [
        (  # Glaurung
            "option name Mobility (Middle Game) type spin default 100 min 0 max 200",
            OptionDeclaration("Mobility (Middle Game)", "spin", "100", 0, 200),
        ),
        (  # Toga II
            "option name NullMove Pruning type combo default Always var Always var Fail High",
            OptionDeclaration(
                "NullMove Pruning", "combo", "Always", None, None, ("Always", "Fail High")
            ),
        ),
        (
            "option name Depth type spin min -1 max 99 default 7",
            OptionDeclaration("Depth", "spin", "7", -1, 99),
        ),
        (
            "option name Style type combo default max var min var var var max var default",
            OptionDeclaration("Style", "combo", "max", choices=("min", "var", "max", "default")),
        ),
        (
            "option name Book type combo default own default book var none var own default book",
            OptionDeclaration(
                "Book", "combo", "own default book", choices=("none", "own default book")
            ),
        ),
        (
            "option name Style type combo var a var the default default a",
            OptionDeclaration("Style", "combo", "a", choices=("a", "the default")),
        ),
        (
            "option name Style type combo var default var x",
            OptionDeclaration("Style", "combo", choices=("default", "x")),
        ),
        ("option name Path type String default a b", OptionDeclaration("Path", "string", "a b")),
        (
            "option name Hash type Spin default 1 min 1 max 9",
            OptionDeclaration("Hash", "spin", "1", 1, 9),
        ),
        (
            "option name Cpuct type float default 1.5 min 0.5 max 4",
            OptionDeclaration("Cpuct", "float", "1.5"),
        ),
        ("option name Net type file default", OptionDeclaration("Net", "file")),
        ("option name type of net default min", OptionDeclaration("type of net", "", "min")),
        ("option name Bare", OptionDeclaration("Bare", "")),
    ],
)
def test_names_and_values_of_options_may_have_several_words_and_keywords(
    line: str, option: OptionDeclaration
) -> None:
    assert OptionDeclaration.parse(line) == option


@pytest.mark.parametrize(
    ("declaration", "text"),
    [
        ("string default max 3 var x min default", "max 3 var x min default"),
        ("filename default  default", "default"),
        ("string default <empty>", "<empty>"),
        # Stockfish 15 would open a file with the name <empty>.
        ("string default ", None),
        ("string", None),
        ("check default TRUE", "true"),
        ("check", None),
        ("spin default 07 min 1 max 9", "7"),
        ("spin default 0 min 1 max 9", None),
        ("spin min 1 max 9", None),
        ("combo default solid var Solid var Risky", "Solid"),
        ("combo default Wild var Solid var Risky", None),
        ("button", None),
    ],
)
def test_default_that_setoption_can_restore(declaration: str, text: str | None) -> None:
    option = OptionDeclaration.parse(f"option name X type {declaration}")
    assert option is not None
    assert option.reset_text == text


def test_ready_passes_over_chatter_and_keeps_complaints() -> None:
    ready = Ready("setoption name Hassh value 3")
    assert ready.request == b"setoption name Hassh value 3\nisready\n"
    converse(ready, "No such option: Hassh", "info string loading", "readyok")
    assert ready.complaints == ["No such option: Hassh"]


def test_go_keeps_the_last_info_line_with_an_exact_score_of_the_best_move() -> None:
    go = Go(b"go depth 3\n")
    converse(
        go,
        "info depth 1 score cp 13 nodes 20 pv e2e4",
        "info depth 2 score cp -7 nodes 99 nps 1000 pv d2d4 d7d5",
        "info currmove e2e4 currmovenumber 1",
        "info depth 3 score cp 9 upperbound",
        "info depth 3 multipv 2 score cp 4",
        "info string score cp 5",
        "bestmove d2d4 ponder d7d5",
    )
    assert go.bestmove == "d2d4"
    line = score_line(go.info_lines)
    assert read_info(line) == {"depth": 2, "nodes": 99, "nps": 1000}
    assert read_score(line) == (-7, None)


@pytest.mark.parametrize(("blanks", "end"), [(" ", ""), ("\t", ""), (" \t ", ""), ("", "\r")])
def test_blanks_around_a_message_are_passed_over(blanks: str, end: str) -> None:
    go, handshake = Go(b"go depth 3\n"), Handshake("uci")
    converse(go, f"{blanks}info depth 1 score cp 13", f"{blanks}bestmove e2e4 ponder e7e5{end}")
    assert (go.bestmove, go.ponder) == ("e2e4", "e7e5")
    assert read_score(score_line(go.info_lines)) == (13, None)
    option = "option name Hash type spin default 16 min 1 max 64"
    converse(handshake, f"{blanks}id name X{end}", f"{blanks}{option}", f"{blanks}uciok{end}")
    assert (handshake.name, [*handshake.options]) == ("X", ["hash"])
    converse(Ready(), f"{blanks}readyok{end}")


@pytest.mark.parametrize(
    ("line", "move"),
    [("bestmove", ""), ("bestmove (none)", "(none)"), ("bestmove NULL", "NULL")],
)
def test_odd_bestmoves_come_through_as_they_are(line: str, move: str) -> None:
    # Stockfish answers "(none)" when mated; Glaurung prints NULL
    go = Go(b"")
    converse(go, line)
    assert go.bestmove == move


def test_number_of_absurd_length_is_no_number() -> None:
    line = b"info score cp " + b"9" * 5000 + b" depth 3 nodes " + b"9" * 5000
    assert (read_info(line), read_score(line)) == ({"depth": 3}, (None, None))


SPIN = OptionDeclaration("Hash", "spin", "16", 1, 1024)
CHECK = OptionDeclaration("Ponder", "check", "false")
COMBO = OptionDeclaration("Style", "combo", "Normal", choices=("Solid", "Normal"))


@pytest.mark.parametrize(
    ("option", "value", "text"),
    [
        (SPIN, 16, "16"),
        (SPIN, "16", "16"),
        (CHECK, True, "true"),
        (CHECK, "False", "false"),
        (COMBO, "solid", "Solid"),
        (OptionDeclaration("File", "string"), "", "<empty>"),
        (OptionDeclaration("File", "string"), "a b", "a b"),
        (OptionDeclaration("Cpuct", "float"), 1.5, "1.5"),
        (OptionDeclaration("Bare", ""), "x", "x"),
        (OptionDeclaration("Flag", "string"), True, "true"),
        (OptionDeclaration("Style", "combo"), "Solid", "Solid"),
        (OptionDeclaration("Clear", "button"), True, ""),
    ],
)
def test_value_is_rendered_for_setoption(
    option: OptionDeclaration, value: object, text: str
) -> None:
    assert option.render(value) == text  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("option", "value", "wanted"),
    [
        (SPIN, 0, "an integer from 1 to 1024"),
        (SPIN, 1.5, "an integer from 1 to 1024"),
        (SPIN, True, "an integer from 1 to 1024"),
        (CHECK, 1, "True or False"),
        (COMBO, "Wild", "one of Solid, Normal"),
    ],
)
def test_wrong_value_is_refused_with_the_right_ones(
    option: OptionDeclaration, value: object, wanted: str
) -> None:
    with pytest.raises(OptionRefused, match=wanted):
        option.render(value)  # type: ignore[arg-type]


def test_go_command_has_the_clocks_of_both_sides() -> None:
    limits = Limits(
        seconds=1.0, clock_ms=(60000, 59000), increment_ms=(100, 200), moves_to_go=40, nodes=7
    )
    assert UciEngine.go_command(limits) == (
        b"go wtime 60000 btime 59000 winc 100 binc 200 movestogo 40 nodes 7\n"
    )


def test_go_command_combines_limits_of_a_move() -> None:
    assert (
        UciEngine.go_command(Limits(1.0, depth=4, move_time_ms=250)) == b"go depth 4 movetime 250\n"
    )

"""Moves with analysis and limits of visits, over GTP."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.engines.engine import Limits, Thought
from ringmaster.engines.gtp import MAX_RESPONSE, AnalysisCommand
from ringmaster.engines.gtp_analysis import info_line
from ringmaster.engines.uci_messages import read_info, read_pv, read_score
from ringmaster.errors import EngineProtocolError, EngineRefused
from ringmaster.model.jobs import GameSettings, Opening
from ringmaster.model.players import Player
from ringmaster.model.results import Problem
from tests.engines_layer.gtp_dialogue import converse, talker

KATA, LZ = "kata-genmove_analyze", "lz-genmove_analyze"
GO = GameSettings("go", board_size=19, komi=7.5)

#: As KataGo writes them: two reports of the same search.
FIRST = "info move D4 visits 9 winrate 0.9 scoreLead 9 order 0 pv D4"
LAST = (
    "info move Q16 visits 487 edgeVisits 487 utility -0.0408357 winrate 0.480018 "
    "scoreMean -0.611848 scoreStdev 24.7058 scoreLead -0.611848 scoreSelfplay -0.515178 "
    "prior 0.221121 lcb 0.477221 utilityLcb -0.0486664 weight 490.5 order 0 pv Q16 E3 pass "
    "info move P16 visits 470 utility -0.0414945 winrate 0.479712 scoreMean -0.63075 "
    "scoreLead -0.63075 prior 0.220566 lcb 0.47657 order 1 pv P16 P17 "
    "info move D16 visits 470 winrate 0.479712 isSymmetryOf P16 order 2 pv D16 D17"
)
#: As Leela Zero writes them.
LEELA = (
    "info move E4 visits 1178 winrate 4802 prior 2211 lcb 4781 order 0 pv E4 E3 F3 "
    "info move P16 visits 56 winrate 4796 prior 2206 lcb 4769 order 1 pv P16"
)


def player(**settings: Any) -> Player:
    return Player("x", ("x",), **{"analysis": "kata", **settings})


def thought_of(answer: str, colour: int = 0, **settings: Any) -> Thought:
    """Return the thought of an engine that answers a request for analysis so."""
    asked = player(**settings)
    engine, _ = talker(asked, **{f"{asked.analysis}__genmove_analyze": answer})
    engine.start_game(GO, Opening(), colour)
    return engine.think(colour, Limits(60))


def facts(thought: Thought) -> tuple[Any, ...]:
    """Return score, lead, visits and expected moves."""
    score, mate = thought.score_and_mate()
    assert mate is None
    return score, thought.lead, thought.number("nodes"), thought.pv


def test_a_move_has_the_winrate_lead_visits_and_line_of_the_last_report() -> None:
    thought = thought_of(f"\n{FIRST}\n{LAST}\nplay Q16")
    assert (thought.kind, thought.move) == ("move", "Q16")
    # copied moves had no visits of their own
    assert facts(thought) == (-200, -0.611848, 957, ("Q16", "E3", "pass"))


def test_leela_zeros_winrates_count_to_ten_thousand_and_have_no_lead() -> None:
    thought = thought_of(f"\n{LEELA}\nplay E4", analysis="lz")
    assert facts(thought) == (-198, None, 1234, ("E4", "E3", "F3"))


def test_the_group_of_the_move_played_counts_else_the_one_of_order_0() -> None:
    # KataGo's friendly pass, and random moves of Leela Zero
    assert facts(thought_of(f"\n{LAST}\nplay p16"))[:2] == (-203, -0.63075)
    assert facts(thought_of(f"\n{LAST}\nplay pass"))[:2] == (-200, -0.611848)
    turned = "info order 1 move A1 winrate 0.1 info pv B1 order 0 winrate 0.75 move B1"
    assert facts(thought_of(f"\n{turned}\nplay pass")) == (2500, None, 0, ("B1",))


def test_sections_about_the_root_and_ownership_are_no_moves() -> None:
    sections = "rootInfo visits 5000 winrate 0.9 scoreLead 20 ownership 0.5 -0.5 ownershipStdev 1 1"
    expected = (-200, -0.611848, 957, ("Q16", "E3", "pass"))
    assert facts(thought_of(f"\n{LAST} {sections}\nplay Q16")) == expected
    assert facts(thought_of(f"\n{sections} {LAST}\nplay Q16")) == expected


@pytest.mark.parametrize(
    ("view", "colour", "score"),
    [
        ("mover", 0, -200),
        ("mover", 1, -200),
        ("opponent", 0, 200),
        ("black", 0, -200),
        ("black", 1, 200),
        ("white", 0, 200),
        ("white", 1, -200),
    ],
)
def test_black_and_white_are_kata_gos_points_of_view(view: str, colour: int, score: int) -> None:
    # reportAnalysisWinratesAs = BLACK or WHITE
    thought = thought_of(f"\n{LAST}\nplay Q16", colour, score_pov=view)
    assert facts(thought)[:2] == (score, 0.611848 if score > 0 else -0.611848)


def test_a_resignation_and_a_move_without_analysis_have_no_score() -> None:
    assert thought_of(f"\n{LAST}\nplay resign").kind == "resign"
    assert facts(thought_of("\nplay D4")) == (None, None, None, ())
    assert facts(thought_of("\ninfo move D4 winrate nan pv D4\nplay D4"))[0] is None
    assert facts(thought_of("\ninfo move D4 winrate 4802\nplay D4"))[0] is None


def test_moves_are_requested_with_analysis_except_claims() -> None:
    engine, channel = talker(player(), kata__genmove_analyze=f"\n{LAST}\nplay Q16")
    engine.observe(0, "D4", own=False)
    engine.begin(1, Limits(60))
    assert engine.think(1, Limits(60)).move == "Q16"
    assert channel.writes[-1] == f"play b D4\n{KATA} w 360000\n"
    engine, channel = talker(player(allow_claim=True), gomill__genmove_ex="claim")
    engine.start_game(GO, Opening(), 0)
    assert engine.think(0, Limits(60)).kind == "claim"


def test_an_alias_stands_for_the_command() -> None:
    engine, channel = talker(
        player(gtp_aliases={KATA: "genmove_analyze"}), genmove_analyze=f"\n{LAST}\nplay Q16"
    )
    assert engine.check(GO) == []
    assert facts(engine.think(0, Limits(60)))[0] == -200
    assert channel.written_lines[-1] == "genmove_analyze b 360000"


def test_megabytes_of_reports_are_read_and_the_last_is_kept() -> None:
    exchange = AnalysisCommand(KATA, "b", "100")
    reports = [f"info move D4 visits {i} " + "winrate 0.5 " * 5000 for i in range(100)]
    assert sum(map(len, reports)) > 4 * MAX_RESPONSE
    converse(exchange, "=", *reports, LAST, "play Q16", "")
    assert (exchange.text, exchange.info) == ("Q16", LAST.encode())
    with pytest.raises(EngineProtocolError, match=f"'{KATA}' exceeds {MAX_RESPONSE} bytes"):
        converse(AnalysisCommand(KATA, "b", "100"), "=", *["chat " * 1000] * 1000, "play Q16", "")


def test_reports_of_pondering_after_the_move_do_not_count() -> None:
    exchange = AnalysisCommand(LZ, "b", "100")
    converse(exchange, "=", LEELA, "play E4", "info move A1 winrate 9999 order 0 pv A1", "")
    assert (exchange.text, exchange.info) == ("E4", LEELA.encode())


@pytest.mark.parametrize("answer", ["", f"\n{LAST}", f"\n{LAST}\nplay", "Q16"])
def test_an_answer_without_a_move_breaks_the_protocol(answer: str) -> None:
    with pytest.raises(EngineProtocolError) as error:
        thought_of(answer)
    assert str(error.value) == (
        f"its answer to '{KATA}' has no line 'play MOVE': choose the other form of analysis in "
        "its Player(…), or none"
    )
    # KataGo's answer when a search fails
    with pytest.raises(EngineProtocolError, match="no line 'play MOVE'"):
        AnalysisCommand(KATA).take(b"=\n\n")


def test_a_refused_request_keeps_the_engines_words() -> None:
    with pytest.raises(EngineRefused, match="cannot parse analyze tags"):
        thought_of("? cannot parse analyze tags")


def test_an_engine_without_the_command_is_a_problem() -> None:
    engine, _ = talker(player(analysis="lz"))
    remedy = "choose the other form of analysis in its Player(…), or none"
    assert engine.check(GO) == [Problem(f"it has no command {LZ}: {remedy}")]


def test_limits_of_visits_and_playouts_are_sent_before_each_game() -> None:
    limited = player(analysis=None, visits=800, playouts=500)
    engine, channel = talker(limited, **{"kata-set-param": ""})
    expected = ["kata-set-param maxVisits 800", "kata-set-param maxPlayouts 500", "boardsize 19"]
    assert engine.check(GO) == []
    engine.start_game(GO, Opening(), 0)
    sent = [line for line in channel.written_lines if line.startswith(("kata", "boardsize"))]
    assert sent == expected * 2


def test_leela_zero_gets_its_limits_as_options_and_must_not_ponder() -> None:
    limited = player(analysis="lz", visits=800, playouts=500)
    engine, channel = talker(limited, lz__setoption="", lz__genmove_analyze="")
    assert engine.check(GO) == []
    sent = [line for line in channel.written_lines if line.startswith("lz-")]
    assert sent == [
        "lz-setoption name pondering value false",
        "lz-setoption name visits value 800",
        "lz-setoption name playouts value 500",
    ]
    engine, channel = talker(player(analysis=None, visits=800), lz__setoption="")
    assert engine.check(GO) == []
    assert [line for line in channel.written_lines if "pondering" in line] == []


@pytest.mark.parametrize("name", ["visits", "playouts"])
def test_an_engine_that_cannot_be_told_its_limit_is_a_problem(name: str) -> None:
    engine, _ = talker(player(analysis=None, **{name: 9}))
    (problem,) = engine.check(GO)
    assert problem.reason == (
        f"it cannot be told its {name}: it has neither of the commands kata-set-param, "
        f"lz-setoption; leave {name} out, and limit it by its command line or startup_gtp_commands"
    )


def test_a_refused_limit_is_reported_with_its_command() -> None:
    refusal = {"kata-set-param": "? Could not set params"}
    engine, _ = talker(player(analysis=None, visits=9), **refusal)
    assert engine.check(GO) == [
        Problem("Could not set params", "command", "kata-set-param maxVisits 9")
    ]


WORDS = st.sampled_from(
    [
        *(
            "info",
            "move",
            "D4",
            "pass",
            "visits",
            "winrate",
            "scoreLead",
            "order",
            "pv",
            "rootInfo",
        ),
        *("ownership", "isSymmetryOf", "0", "1", "-3.5", "0.5", "1e-05", "nan", "inf", "word"),
    ]
)


@given(st.one_of(st.binary(), st.lists(WORDS).map(" ".join).map(str.encode)), st.text())
def test_any_line_is_read(line: bytes, move: str) -> None:
    text, lead = info_line(line, move, 1.0, is_turned=False)
    score, mate = read_score(text)
    assert mate is None
    assert (score is None) == (text == b"")
    assert score is None or -5000 <= score <= 5000
    assert lead is None or (text and -1000 <= lead <= 1000)


@given(
    winrate=st.floats(0, 1),
    lead=st.floats(-400, 400),
    visits=st.integers(0, 10**9),
    extra=st.lists(st.sampled_from(["weight 3", "foo bar", "prior 1e-05", "lcb -0.1"])),
    order=st.randoms(use_true_random=False),
    is_turned=st.booleans(),
)
def test_fields_are_read_in_any_order_among_others(
    winrate: float, lead: float, visits: int, extra: list[str], order: Any, is_turned: bool
) -> None:
    fields = [f"visits {visits}", f"winrate {winrate}", f"scoreLead {lead}", "order 0", "pv D4 Q16"]
    fields += ["move D4", *extra]
    order.shuffle(fields)
    line = f"info {' '.join(fields)} info move Q16 visits 5 winrate 0 order 1 pv Q16"
    text, read = info_line(line.encode(), "D4", 1.0, is_turned=is_turned)
    sign = -1 if is_turned else 1
    assert read_score(text)[0] == sign * round(10_000 * (winrate - 0.5))
    assert read == sign * lead
    assert read_info(text) == {"nodes": visits + 5}
    assert read_pv(text) == ("D4", "Q16")

"""USI: scripted dialogues, and an engine as a process; a comment names a quirk's owner."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ringmaster.engines.channel import Channel, Exchange
from ringmaster.engines.engine import Engine, Limits, Thought, start_timeout
from ringmaster.engines.process import Surroundings
from ringmaster.engines.uci import UciEngine, UciOrUsiEngine, UsiEngine
from ringmaster.engines.uci_messages import (
    LONG_MATE,
    Go,
    Handshake,
    OptionDeclaration,
    PonderedGo,
    read_info,
    read_pv,
    read_score,
    score_line,
)
from ringmaster.errors import EngineNotStarted, EngineTimeout, OptionRefused
from ringmaster.model.jobs import GameSettings, Opening
from ringmaster.model.players import Player
from tests.engines_layer.gtp_dialogue import converse
from tests.processes import LONG

ENGINES = Path(__file__).parent.parent / "engines"
SHOGI = GameSettings("shogi")
NODES = Limits(5.0, nodes=1)
LANCE_DOWN = "lnsgkgsn1/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"


class Lines:
    """A transcript in memory."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    def note(self, code: str, direction: str, data: bytes) -> None:
        if direction == ">":
            self.sent += data.decode().splitlines()

    def since_ready(self) -> list[str]:
        return self.sent[self.sent.index("isready") + 1 :]


def player(*flags: str, program: str = "fault_usi", **settings: Any) -> Player:
    command = (sys.executable, "-I", "-S", str(ENGINES / f"{program}.py"), *flags)
    protocol: Any = program[-3:]
    return Player("p", **{"command": command, "protocol": protocol, "nodes": 1, **settings})


@contextmanager
def launched(
    *flags: str, kind: type[UciOrUsiEngine] = UsiEngine, **settings: Any
) -> Iterator[tuple[UciOrUsiEngine, Lines]]:
    if kind is UciEngine:
        settings["program"] = "fault_uci"
    engine, lines = kind(player(*flags, **settings), Surroundings({})), Lines()
    engine.launch(lines)
    try:
        yield engine, lines
    finally:
        engine.end(patience=0.05)


class Interposed(Channel):
    """A channel with another function for its conversations."""

    def __init__(self, channel: Channel, instead: Callable[[Channel, Exchange, float], int]):
        super().__init__(channel.process, channel.code)
        self.transcript = channel.transcript
        self._channel, self._instead = channel, instead

    def converse(self, exchange: Exchange, seconds: float, ahead: int | None = None) -> int:
        return self._instead(self._channel, exchange, seconds)


def interpose(engine: Engine, instead: Callable[[Channel, Exchange, float], int]) -> None:
    engine._channel = Interposed(engine.channel, instead)


@pytest.mark.parametrize(
    ("line", "score"),
    [
        (b"info depth 3 score cp -120 pv 7g7f", (-120, None)),
        (b"info score mate 5 pv P*5e", (None, 5)),
        (b"info score mate -4", (None, -4)),
        (b"info score mate +", (None, LONG_MATE)),
        (b"info score mate - pv resign", (None, -LONG_MATE)),
        (b"info score cp 31 upperbound nodes 5", (31, None)),
        (b"info score cp + nodes 5", (None, None)),
        (b"info score cp 12.5", (None, None)),
        (b"info nodes 5", (None, None)),
    ],
)
def test_scores_of_usi_are_read(line: bytes, score: tuple[int | None, int | None]) -> None:
    assert read_score(line) == score


@given(
    st.dictionaries(
        st.sampled_from(["depth", "seldepth", "nodes", "nps", "hashfull", "tbhits", "time"]),
        st.integers(-(10**14), 10**14),
    ),
    st.none() | st.tuples(st.sampled_from(["cp", "mate"]), st.integers(-30000, 30000)),
    st.lists(st.sampled_from(["7g7f", "P*5e", "2h2b+", "e7e8q", "depth", "score"]), max_size=9),
)
def test_numbers_of_an_info_line_are_read(
    numbers: dict[str, int], score: tuple[str, int] | None, pv: list[str]
) -> None:
    words = [f"{name} {value}" for name, value in numbers.items()]
    if score is not None:
        words.append("score {} {}".format(*score))
    line = " ".join(["info", *words, *(["pv", *pv] if pv else [])]).encode()
    assert read_info(line) == numbers
    kind, value = score or ("", None)
    expected = (value if kind == "cp" else None, value if kind == "mate" else None)
    assert read_score(line) == expected
    assert read_pv(line) == tuple(pv)
    thought = Thought("move", "7g7f", 1)
    thought.info = line
    assert thought.number("nodes") == numbers.get("nodes")
    assert thought.number("hashfull") == numbers.get("hashfull")
    assert thought.pv == tuple(pv)


WORDS = (
    b"info depth 1 score cp 1",
    b"info depth 2 score cp 2 lowerbound",
    b"info multipv 1 score mate 3",
    b"info multipv 2 score cp 4",
    b"info string score 5 score cp 5",
    b"info depth 6",
    b"bestmove 7g7f ponder 3c3d",
    b"bestmove",
    b"  bestmove 2g2f",
    b"\t info depth 7 score cp 7",
    b"info string bestmove",
    b"boo score ",
    b"",
)


def summary(go: Go) -> tuple[object, ...]:
    return score_line(go.info_lines), go.bestmove, go.ponder, go.is_complete


@given(st.lists(st.sampled_from(WORDS) | st.binary(max_size=9), max_size=12), st.data())
def test_lines_of_a_read_are_worth_as_much_as_one_by_one(
    lines: list[bytes], data: st.DataObject
) -> None:
    lines = [line.replace(b"\n", b"") for line in lines]
    whole, single = Go(b""), Go(b"")
    rest: bytes | None = None
    left = list(lines)
    while left and rest is None:
        count = data.draw(st.integers(1, len(left)))
        rest = whole.take(b"".join(line + b"\n" for line in left[:count]))
        left = left[count:]
    for read, line in enumerate(lines):
        if single.feed(line):
            assert rest is not None
            assert rest + b"".join(line + b"\n" for line in left) == b"".join(
                line + b"\n" for line in lines[read + 1 :]
            )
            break
    assert summary(whole) == summary(single)


@pytest.mark.parametrize(
    ("limits", "line"),
    [
        (Limits(1, clock_ms=(600000, 590000)), "go btime 600000 wtime 590000 byoyomi 0"),
        (
            Limits(1, clock_ms=(0, 3000), byoyomi_ms=10000),
            "go btime 0 wtime 3000 byoyomi 10000",
        ),
        (
            Limits(1, clock_ms=(1000, 900), increment_ms=(0, 50), byoyomi_ms=500),
            "go btime 1000 wtime 900 byoyomi 500 binc 0 winc 50",
        ),
        (
            Limits(1, clock_ms=(5, 6), byoyomi_ms=1, nodes=7, depth=3, move_time_ms=50),
            "go btime 5 wtime 6 byoyomi 1 nodes 7 depth 3 movetime 50",
        ),
        (NODES, "go nodes 1"),
    ],
)
def test_go_has_clocks_and_combined_limits(limits: Limits, line: str) -> None:
    assert UsiEngine.go_command(limits) == f"{line}\n".encode()
    assert (
        UsiEngine.go_command(limits, ponder=True)
        == line.replace("go ", "go ponder ", 1).encode() + b"\n"
    )


def test_options_come_before_isready_and_usinewgame_after_it() -> None:
    with launched(options={"EvalDir": "nn", "USI_Hash": 64}) as (engine, lines):
        engine.start_game(SHOGI, Opening(), 0)
        thought = engine.think(0, NODES)
        assert lines.sent == [
            "usi",
            "setoption name EvalDir value nn",
            "setoption name USI_Hash value 64",
            "isready",
            "usinewgame",
            "position startpos",
            "go nodes 1",
        ]
        assert (thought.kind, thought.move) == ("move", "2h1h")


@pytest.mark.parametrize("kind", [UciEngine, UsiEngine])
def test_button_is_pressed_before_each_game_and_other_options_are_set_once(
    kind: type[UciOrUsiEngine],
) -> None:
    settings = GameSettings("chess" if kind is UciEngine else "shogi")
    with launched(kind=kind, options={"Clear Hash": True, "Style": "solid"}) as (engine, lines):
        engine.options["clear hash"] = OptionDeclaration("Clear Hash", "button")
        engine.options["style"] = OptionDeclaration("Style", "combo", choices=("Solid", "Risky"))
        for _ in range(3):
            engine.start_game(settings, Opening(), 0)
        assert lines.sent.count("setoption name Clear Hash") == 3
        assert lines.sent.count("setoption name Style value Solid") == 1


def test_position_is_sent_as_sfen_with_the_opening() -> None:
    with launched() as (engine, lines):
        engine.start_game(SHOGI, Opening(LANCE_DOWN, ("3c3d",)), 0)
        engine.observe(0, "7g7f", own=True)
        engine.think(1, NODES)
        assert f"position sfen {LANCE_DOWN} moves 3c3d 7g7f" in lines.sent


@pytest.mark.parametrize(("word", "kind"), [("resign", "resign"), ("win", "claim")])
def test_engine_resigns_and_declares(word: str, kind: str) -> None:
    with launched("--bestmove", word) as (engine, _):
        engine.start_game(SHOGI, Opening(), 0)
        assert engine.think(0, NODES).kind == kind


def test_undeclared_ponder_option_is_set_by_the_text_of_the_protocol() -> None:
    with launched(ponder=True) as (engine, lines):
        del engine.options["usi_ponder"]
        engine.start_game(SHOGI, Opening(), 0)
        assert "setoption name USI_Ponder value true" in lines.sent
    with launched(ponder=True) as (engine, lines):
        # Fairy-Stockfish has the name that UCI gives it
        engine.options["ponder"] = Handshake().options.get("x") or engine.options.pop("usi_ponder")
        engine.start_game(SHOGI, Opening(), 0)
        assert [line for line in lines.sent if "onder" in line] == [
            "setoption name USI_Ponder value true"
        ]


@pytest.mark.parametrize(
    ("opening", "changes", "own", "sent_value"),
    [
        (Opening(), {}, None, "320"),
        (Opening(None, ("2g2f", "8c8d")), {}, None, "322"),
        (Opening(LANCE_DOWN[:-1] + "11", ("3c3d",)), {}, None, "331"),
        (Opening(), {"move_limit_result": "unknown"}, None, None),
        (Opening(), {"move_limit": 3000}, None, None),
        (Opening(), {}, 256, "256"),
    ],
)
@pytest.mark.parametrize("name", ["MaxMovesToDraw", "Draw_Ply"])
def test_move_limit_goes_to_an_engine_with_an_option_for_it(
    opening: Opening, changes: Any, own: int | None, sent_value: str | None, name: str
) -> None:
    options = {} if own is None else {name.upper(): own}
    settings = GameSettings("shogi", **{"move_limit": 320, **changes})
    with launched(options=options) as (engine, lines):
        engine.options[name.casefold()] = OptionDeclaration(
            name, "spin", "0", minimum=0, maximum=2000
        )
        engine.start_game(settings, opening, 0)
        sent_values = [line.split()[-1] for line in lines.sent if f"name {name} " in line]
        assert sent_values == ([] if sent_value is None else [sent_value])


def test_reused_engine_gets_the_new_move_limit() -> None:
    with launched() as (engine, lines):
        engine.options["draw_ply"] = OptionDeclaration("Draw_Ply", "spin", "0", minimum=0)
        for limit, result in ((320, None), (256, None), (256, "unknown")):
            settings = GameSettings("shogi", move_limit=limit, move_limit_result=result)  # type: ignore[arg-type]
            engine.start_game(settings, Opening(), 0)
        sent_values = [line.split()[-1] for line in lines.sent if "Draw_Ply" in line]
        assert sent_values == ["320", "256", "0"]


@pytest.mark.parametrize("kind", [UciEngine, UsiEngine])
@pytest.mark.parametrize(
    ("declaration", "value", "default"),
    [
        ("string default max 3 var x min default", "big.bin", "max 3 var x min default"),
        ("string default <empty>", "big.bin", "<empty>"),
        ("combo default var var max var var", "max", "var"),
        ("spin max 9 default 7", 8, "7"),
        ("string default ", "big.bin", None),
        ("string", "big.bin", None),
        ("check", True, None),
        ("button", True, None),
    ],
)
def test_option_that_only_the_player_before_set_is_set_back_or_the_process_is_new(
    kind: type[UciOrUsiEngine],
    declaration: str,
    value: Any,
    default: str | None,
    tmp_path: Path,
) -> None:
    pids = tmp_path / "pids"
    flags = "--pid-file", str(pids), "--option", f"Book type {declaration}"
    settings = GameSettings("chess" if kind is UciEngine else "shogi")
    with launched(*flags, kind=kind, options={"Book": value, "Strength": 7}) as (engine, lines):
        engine.start_game(settings, Opening(), 0)
        first = engine.player
        engine.change_player(replace(first, options={"Strength": 7}))
        del lines.sent[:]
        engine.start_game(settings, Opening(), 0)
        starts = 1 if default is not None else 2
        assert len(pids.read_text().split()) == starts
        reset = [] if default is None else [f"setoption name Book value {default}"]
        assert [line for line in lines.sent if "Book" in line] == reset
        # It has the other options.
        assert "setoption name Strength value 7" in lines.sent or starts == 1
        del lines.sent[:]
        engine.start_game(settings, Opening(), 0)
        engine.change_player(first)
        engine.start_game(settings, Opening(), 0)
        assert len(pids.read_text().split()) == starts
        assert sum("Book" in line for line in lines.sent) == 1


def test_undeclared_hash_table_of_the_player_before_is_not_kept(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    with launched("--pid-file", str(pids), options={"USI_Hash": 64}) as (engine, _):
        engine.start_game(SHOGI, Opening(), 0)
        engine.change_player(replace(engine.player, options={}))
        engine.start_game(SHOGI, Opening(), 0)
        assert len(pids.read_text().split()) == 2


def test_process_that_replaces_one_with_unknown_options_learns_of_its_own_game() -> None:
    with launched(options={"USI_Hash": 64}) as (engine, _):
        engine.start_game(SHOGI, Opening(), 0)
        engine.change_player(
            Player("q", ("/bin/sh", "-c", "echo $RINGMASTER_GAME_ID >&2"), protocol="usi"),
            Surroundings({"RINGMASTER_GAME_ID": "0_7"}),
        )
        with pytest.raises(EngineNotStarted, match="0_7") as error:
            engine.start_game(SHOGI, Opening(), 0)
        assert error.value.code == "q"


def test_wrong_options_are_all_named() -> None:
    with launched(options={"Evaldir": "x", "USI_Hash": 0, "Speed": 3}) as (engine, _):
        with pytest.raises(OptionRefused) as refused:
            engine.start_game(SHOGI, Opening(), 0)
        assert "'USI_Hash' cannot be 0" in str(refused.value)
        assert "it has no option 'Speed'" in str(refused.value)
        assert "Evaldir" not in str(refused.value)


def test_ponderhit_and_gameover() -> None:
    with launched("--expect", "right", ponder=True) as (engine, lines):
        engine.start_game(SHOGI, Opening(), 0)
        first = engine.think(0, NODES)
        engine.observe(0, first.move, own=True)
        assert engine.ponder(0, NODES) is not None
        engine.observe(1, first.ponder, own=False)
        assert engine.think(0, NODES).kind == "move"
        engine.end_game("draw")
        assert lines.since_ready()[3:] == [
            f"position startpos moves {first.move} {first.ponder}",
            "go ponder nodes 1",
            "ponderhit",
            "gameover draw",
        ]


@pytest.mark.parametrize("kind", [UciEngine, UsiEngine])
def test_only_an_engine_that_sent_an_extra_move_is_synchronised_before_its_searches(
    kind: type[UciOrUsiEngine],
) -> None:
    settings = GameSettings("chess" if kind is UciEngine else "shogi")
    for flags, extra_moves in ((), 0), (("--second-move", "a2a3"), 3):
        with launched("--expect", "right", *flags, kind=kind, ponder=True) as (engine, lines):
            engine.start_game(settings, Opening(), 0)
            for _ in range(2):
                thought = engine.think(0, NODES)
                engine.observe(0, thought.move, own=True)
                assert engine.ponder(0, NODES) is not None
                engine.observe(1, thought.ponder, own=False)
            searches = [i for i, line in enumerate(lines.sent) if line.startswith("go ")]
            # The second search is one by `ponderhit`.
            assert [lines.sent[i].split()[1] for i in searches] == ["nodes", "ponder", "ponder"]
            is_synchronised = [lines.sent[i - 2] == "isready" for i in searches[1:]]
            assert is_synchronised == 2 * [extra_moves > 0]
            engine.stop_pondering(5)
            engine.start_game(settings, Opening(), 0)
            assert engine.extra_moves == extra_moves


@pytest.mark.parametrize(("info", "least", "most"), [("0", 0.0, 0.05), ("1", 0.05, 1.0)])
def test_ponderhit_waits_until_the_search_has_begun(info: str, least: float, most: float) -> None:
    # Ethereal forgets a ponderhit that comes before its search thread runs
    flags = ("--expect", "right", "--info", info)
    with launched(*flags, ponder=True) as (engine, lines):
        engine.start_game(SHOGI, Opening(), 0)
        first = engine.think(0, NODES)
        engine.observe(0, first.move, own=True)
        pondered = engine.ponder(0, NODES)
        assert isinstance(pondered, PonderedGo)
        engine.observe(1, first.ponder, own=False)
        waits: list[float] = []

        def counting(channel: Channel, exchange: Exchange, seconds: float) -> int:
            if not exchange.request:
                waits.append(seconds)
                pondered.feed(b"info depth 1")
                return 7
            return channel.converse(exchange, seconds)

        interpose(engine, counting)
        thought = engine.think(0, NODES)
        assert len(waits) == 1
        assert least < waits[0] <= most
        assert thought.kind == "move"
        assert lines.sent[-1] == "ponderhit"


AT_ONCE = """
import os, sys
answers = {"usi": b"usiok", "isready": b"readyok", "go": b"bestmove 7g7f ponder 3c3d"}
for line in sys.stdin:
    word = line.split()[0]
    if line.startswith("go ponder"):
        os.write(1, b"info depth 1 score cp 5\\nbestmove 2g2f\\n")
    elif word in answers:
        os.write(1, answers[word] + b"\\n")
"""


def test_answer_that_comes_with_the_first_lines_of_a_search_is_not_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    command = (sys.executable, "-I", "-S", "-c", AT_ONCE)
    with launched(command=command, ponder=True) as (engine, lines):
        engine.start_game(SHOGI, Opening(), 0)
        engine.observe(0, engine.think(0, NODES).move, own=True)
        # Its output is read only after its opponent's move.
        assert isinstance(engine.ponder(0, NODES), PonderedGo)
        engine.observe(1, "3c3d", own=False)
        # the time that a search is given to begin is not over
        monkeypatch.setattr("ringmaster.engines.uci.now_ns", lambda: 0)
        thought = engine.think(0, NODES)
        assert (thought.move, thought.elapsed_ns) == ("2g2f", 0)
        assert thought.score_and_mate() == (5, None)
        assert "ponderhit" not in lines.sent


@pytest.mark.parametrize("kind", [UciEngine, UsiEngine])
@pytest.mark.parametrize(
    ("view", "turned"),
    [("mover", "neither"), ("opponent", "both"), ("white", "black"), ("black", "white")],
)
def test_scores_from_another_side_are_turned_round(
    kind: type[UciOrUsiEngine], view: Any, turned: str
) -> None:
    names = ("white", "black") if kind is UciEngine else ("black", "white")
    settings = GameSettings("chess") if kind is UciEngine else SHOGI
    with launched("--info", "3", kind=kind, score_pov=view) as (engine, _):
        engine.start_game(settings, Opening(), 0)
        for colour, name in enumerate(names):
            thought = engine.think(colour, NODES)
            plain = read_score(thought.info)[0]
            assert plain
            assert thought.score_and_mate()[0] == (-plain if turned in (name, "both") else plain)


@pytest.mark.parametrize(("mate", "meant"), [("3", -3), ("-2", 2), ("0", None), ("+", -LONG_MATE)])
def test_mates_are_turned_round_too(mate: str, meant: int | None) -> None:
    with launched(score_pov="opponent") as (engine, _):
        engine.start_game(SHOGI, Opening(), 0)
        go = Go(b"")
        converse(go, f"info score mate {mate}", "bestmove 7g7f")
        thought = engine._thought(0, go, 1)
        assert thought.score_and_mate() == (None, meant)


def test_engine_that_names_no_answer_does_not_ponder() -> None:
    for word in ("2g2f ponder resign", "2g2f ponder (none)", "2g2f", "2g2f ponder 0000"):
        with launched("--bestmove", word, ponder=True) as (engine, _):
            engine.start_game(SHOGI, Opening(), 0)
            engine.observe(0, engine.think(0, NODES).move, own=True)
            assert engine.ponder(0, NODES) is None


def test_time_spent_on_stopping_is_off_the_reported_clock() -> None:
    clock = Limits(9.0, clock_ms=(1000, 2000), byoyomi_ms=500)
    with launched("--expect", "wrong", ponder=True) as (engine, lines):
        engine.start_game(SHOGI, Opening(), 0)
        engine.observe(0, engine.think(0, clock).move, own=True)
        engine.ponder(0, clock)
        engine.observe(1, "3c3d", own=False)

        def slowly(channel: Channel, exchange: Exchange, seconds: float) -> int:
            elapsed = channel.converse(exchange, seconds)
            return 1_200_000_000 if exchange.request == b"stop\n" else elapsed

        interpose(engine, slowly)
        thought = engine.think(0, clock)
        assert lines.sent[-1] == "go btime 0 wtime 2000 byoyomi 300"
        assert thought.elapsed_ns >= 1_200_000_000
        assert clock.clock_ms == (1000, 2000)


@pytest.mark.parametrize(
    ("protocol", "settings", "seconds"),
    [
        ("usi", {}, 120.0),
        ("uci", {}, 60.0),
        ("gtp", {}, 60.0),
        ("uci", {"ready_timeout": 900.0}, 900.0),
    ],
)
def test_how_long_an_engine_may_take_to_get_ready(
    protocol: Any, settings: dict[str, Any], seconds: float
) -> None:
    who = Player("p", ("x",), protocol=protocol, **settings)
    assert start_timeout(GameSettings("shogi", hang_timeout=5), who) == seconds
    usual = max(seconds, 500.0) if "ready_timeout" not in settings else seconds
    assert start_timeout(GameSettings("shogi", hang_timeout=500), who) == usual


def test_engine_that_loads_for_longer_than_its_player_allows_is_not_waited_for() -> None:
    with (
        launched("--ready-after", "60", ready_timeout=0.3) as (engine, _),
        pytest.raises(EngineTimeout, match=r"no answer to 'isready' in 0\.3 s"),
    ):
        engine.start_game(SHOGI, Opening(), 0)
    with launched("--ready-after", "0.2", ready_timeout=LONG) as (engine, _):
        engine.start_game(SHOGI, Opening(), 0)


@pytest.mark.parametrize("flags", ["--hang-on go", "--flood-on go", "--slow 1000"])
def test_silence_and_noise_end_at_the_deadline_and_stop_separates_them(flags: str) -> None:
    with launched(*flags.split()) as (engine, _):
        engine.start_game(SHOGI, Opening(), 0)
        with pytest.raises(EngineTimeout, match="no answer to 'go"):
            engine.think(0, Limits(0.1, nodes=1))
        assert not engine.is_usable()
        stopped = engine.stop_thinking(LONG if "--slow" in flags else 0.2)
        assert (stopped is not None) == flags.startswith("--slow")
        assert engine.is_usable() == (stopped is not None)


def chess(variant: str) -> GameSettings:
    return GameSettings("chess", variant=variant)


def test_variant_is_set_and_reset() -> None:
    with launched(kind=UciEngine) as (engine, lines):
        declared = Handshake()
        converse(
            declared,
            "option name UCI_Chess960 type check default false",
            "option name UCI_Variant type combo default chess var chess var crazyhouse",
            "uciok",
        )
        engine.options |= declared.options
        engine.start_game(chess("chess960"), Opening(), 0)
        engine.start_game(chess("crazyhouse"), Opening(), 0)
        engine.start_game(chess("standard"), Opening(), 0)
        assert [line for line in lines.sent if "UCI_" in line] == [
            "setoption name UCI_Chess960 value true",
            "setoption name UCI_Variant value crazyhouse",
            "setoption name UCI_Chess960 value false",
            "setoption name UCI_Variant value chess",
        ]
        assert [*map(str, engine.check(chess("shatranj")))] == [
            "option 'UCI_Variant' cannot be 'shatranj', which it does not play"
        ]


@pytest.mark.parametrize(
    ("variant", "option"), [("chess960", "UCI_Chess960"), ("atomic", "UCI_Variant")]
)
def test_engine_without_the_option_cannot_play_a_variant(variant: str, option: str) -> None:
    with (
        launched(kind=UciEngine) as (engine, _),
        pytest.raises(OptionRefused, match=f"it has no option '{option}', which {variant}"),
    ):
        engine.start_game(chess(variant), Opening(), 0)

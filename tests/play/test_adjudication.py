"""When a game is stopped before its rules end it."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path

import chess
import chess.pgn
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.engines.engine import Limits, Thought
from ringmaster.errors import EngineError
from ringmaster.games.chess import chess_rules
from ringmaster.games.game import Ending
from ringmaster.games.tablebases import Prober, find_problem, open_tablebases
from ringmaster.model.jobs import (
    DrawAdjudication,
    GameSettings,
    Opening,
    ResignAdjudication,
    Tablebases,
)
from ringmaster.model.players import Player
from ringmaster.model.results import GameResult
from ringmaster.play.adjudication import Adjudicator, make_adjudicator
from ringmaster.play.game_runner import GameRunner
from tests.play.scripted import Act, Scripted, ScriptedGo, chess_player, job

TABLES = Path(__file__).parent.parent / "data" / "syzygy"

#: Moves without a capture or a pawn move, never the same position three times
#: within the first sixteen plies.
SHUFFLE = [
    "b1c3", "b8c6", "c3b5", "c6b4", "g1f3", "g8f6", "f3g5", "f6g4",
    "b5c3", "b4c6", "c3e4", "c6e5", "g5f3", "g4f6", "e4g3", "e5g6",
]  # fmt: skip

Said = int | str | None
STANDARD = Opening()


class Scored(Scripted):
    """Gives a score with each move: centipawns, "M3" for a mate, or None."""

    def __init__(self, player: str, moves: Iterable[Act], scores: Iterable[Said]) -> None:
        super().__init__(chess_player(player), moves)
        self.scores = iter(scores)

    def think(self, colour: int, limits: Limits) -> Thought:
        thought = super().think(colour, limits)
        thought.info_lines = info_line(next(self.scores))
        return thought


def split(score_text: Said) -> tuple[int | None, int | None]:
    return (None, int(score_text[1:])) if isinstance(score_text, str) else (score_text, None)


def info_line(score_text: Said) -> bytes:
    if score_text is None:
        return b""
    score = f"mate {score_text[1:]}" if isinstance(score_text, str) else f"cp {score_text}"
    return f"info score {score}".encode()


def play(
    moves: list[str], scores: list[Said], opening: Opening = STANDARD, **s: object
) -> GameResult:
    """Play a script of moves, each with its score; then both resign."""
    white = Scored("w", [*moves[::2], "resign"], [*scores[::2], None])
    black = Scored("b", [*moves[1::2], "resign"], [*scores[1::2], None])
    given = job(white.player, black.player, opening=opening, **s)
    return GameRunner(given, (white, black)).play()


def draw(**changes: int) -> DrawAdjudication:
    return DrawAdjudication(**{"move_number": 0, "move_count": 2, "score": 10, **changes})


def test_level_scores_of_both_make_a_draw() -> None:
    result = play(SHUFFLE, [0, 10, -10, 5], draw_adjudication=draw())
    assert (result.outcome, result.winner, result.reason) == ("draw", None, "adjudicated draw")
    assert (result.score, result.plies, result.forfeit) == ("1/2-1/2", 4, False)
    assert result.detail == "both scores within 0.10 for 2 moves"


@pytest.mark.parametrize(("move_number", "plies"), [(2, 4), (3, 6), (5, 10)])
def test_no_draw_is_declared_before_that_many_full_moves_are_played(
    move_number: int, plies: int
) -> None:
    result = play(SHUFFLE, [0] * 16, draw_adjudication=draw(move_number=move_number))
    assert result.plies == plies


def test_move_limit_option_counts_from_the_start_position_with_the_opening() -> None:
    late = Opening(fen="rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 39")
    assert play(SHUFFLE, [0] * 16, late, draw_adjudication=draw(move_number=42)).plies == 8
    book = Opening(moves=tuple(SHUFFLE[:4]))
    assert play(SHUFFLE[4:], [0] * 16, book, draw_adjudication=draw(move_number=5)).plies == 6


def test_a_capture_or_a_pawn_move_restarts_the_draw_count() -> None:
    moves = ["b1c3", "b8c6", "c3d5", "e7e6", "d5b4", "c6b4", "g1f3", "g8f6", "f3g1"]
    result = play(moves, [0] * 9, draw_adjudication=draw())
    # 3... e6 is the first of a new row, and so is 5... Nxb4
    assert (result.plies, result.reason) == (9, "adjudicated draw")
    assert play(moves[:4], [0] * 4, draw_adjudication=draw()).reason == "resignation"


def test_a_player_that_calls_its_game_lost_loses() -> None:
    scores: list[Said] = [100, -600, 100, -601, 100, -9999]
    result = play(SHUFFLE, scores, resign_adjudication=ResignAdjudication())
    assert (result.outcome, result.winner, result.score) == ("win", 0, "1-0")
    assert (result.reason, result.forfeit, result.faulty) == ("adjudicated win", False, None)
    assert (result.plies, result.detail) == (6, "score -6.00 or worse for 3 moves")


@pytest.mark.parametrize("odd", [-599, None, "M4", 700])
def test_one_better_score_restarts_the_count_of_a_loss(odd: Said) -> None:
    scores: list[Said] = [-700, 0, -700, 0, odd, 0, -700, 0, -700, 0, -700, 0]
    assert play(SHUFFLE, scores, resign_adjudication=ResignAdjudication()).plies == 11


def test_a_mate_is_beyond_any_score() -> None:
    scores: list[Said] = [0, "M-9", 0, "M0", 0, -600]
    result = play(SHUFFLE, scores, resign_adjudication=ResignAdjudication())
    assert (result.winner, result.plies) == (0, 6)


def test_two_sided_resignation_needs_the_opponents_word_for_as_long() -> None:
    rule = ResignAdjudication(move_count=2, score=300, two_sided=True)
    lost: list[Said] = [299, -400, 299, -400, 300, -400, "M2", -400]
    result = play(SHUFFLE, lost, resign_adjudication=rule)
    assert (result.winner, result.plies) == (0, 7)
    assert result.detail == "score -3.00 or worse for 2 moves, and the opponent agrees"
    disputed: list[Said] = [-400, -400] * 4
    assert play(SHUFFLE[:8], disputed, resign_adjudication=rule).reason == "resignation"


class ScoredGo(ScriptedGo):
    """Gives a winrate in percent with each move, or None."""

    def __init__(self, player: Player, moves: list[Act], winrates: list[float | None]) -> None:
        super().__init__(player, moves)
        self.winrates = iter(winrates)

    def think(self, colour: int, limits: Limits) -> Thought:
        thought = super().think(colour, limits)
        percent = next(self.winrates, None)
        thought.info_lines = info_line(None if percent is None else round(100 * (percent - 50)))
        return thought


GO_MOVES = ["A1", "B1", "A2", "B2", "A3", "B3", "A4", "B4"]


def play_go(winrates: list[float | None], **settings: object) -> GameResult:
    """Play moves of Go, each with its mover's winrate in percent; then both resign."""
    engines = tuple(
        ScoredGo(Player(code, ("x",)), [*GO_MOVES[i::2], "resign"], winrates[i::2])
        for i, code in enumerate("bw")
    )
    return GameRunner(job(*[e.player for e in engines], game="go", **settings), engines).play()


def test_a_player_of_go_loses_by_its_own_winrate() -> None:
    rule = ResignAdjudication(move_count=2, winrate=0.05)
    result = play_go([60, 5, 60, 5.01, 60, 4, 60, 5], resign_adjudication=rule)
    assert (result.outcome, result.winner, result.score) == ("win", 0, "B+")
    assert (result.reason, result.plies, result.forfeit) == ("adjudicated win", 8, False)
    assert result.detail == "winrate 5.0% or worse for 2 moves"
    assert play_go([60, 4, 60, None, 60, 4], resign_adjudication=rule).reason == "resignation"


def test_two_sided_resignation_in_go_needs_the_opponents_winrate_as_well() -> None:
    rule = ResignAdjudication(move_count=1, winrate=0.1, two_sided=True)
    result = play_go([89, 5, 90, 5], resign_adjudication=rule)
    assert (result.winner, result.plies) == (0, 3)
    assert result.detail == "winrate 10.0% or worse for 1 move, and the opponent agrees"


def test_winrates_near_one_half_of_both_make_a_draw_of_go() -> None:
    rule = DrawAdjudication(move_number=0, move_count=2, winrate=0.02)
    result = play_go([52, 48, 52.01, 48, 50, 48, 52, 50], draw_adjudication=rule)
    assert (result.outcome, result.reason, result.score) == ("draw", "adjudicated draw", "0")
    assert result.plies == 7
    assert result.detail == "both winrates within 2.0% of 50% for 2 moves"


def test_a_game_ended_by_the_rules_is_not_adjudicated() -> None:
    moves, scores = ["f2f3", "e7e5", "g2g4", "d8h4"], ["M-1", "M2", "M-1", "M1"]
    result = play(moves, list(scores), resign_adjudication=ResignAdjudication(move_count=2))
    assert (result.reason, result.plies) == ("adjudicated win", 3)
    result = play(moves, list(scores), resign_adjudication=ResignAdjudication(move_count=3))
    assert (result.reason, result.plies) == ("mate", 4)


def test_nothing_is_adjudicated_without_a_setting() -> None:
    assert make_adjudicator(GameSettings("chess")) is None
    assert play(SHUFFLE, [0, -9999] * 8).reason == "resignation"


@pytest.mark.parametrize(
    ("setting", "outcome", "score"),
    [(None, "draw", "1/2-1/2"), ("draw", "draw", "1/2-1/2"), ("unknown", "unknown", "*")],
)
def test_result_at_the_move_limit_of_chess_is_set(
    setting: str | None, outcome: str, score: str
) -> None:
    result = play(SHUFFLE, [0] * 16, move_limit=6, move_limit_result=setting)
    assert (result.outcome, result.score, result.reason) == (outcome, score, "move limit")
    assert result.plies == 6


@pytest.mark.parametrize(
    ("setting", "outcome", "score"),
    [(None, "unknown", "Void"), ("draw", "draw", "0"), ("unknown", "unknown", "Void")],
)
def test_result_at_the_move_limit_of_go_is_set(
    setting: str | None, outcome: str, score: str
) -> None:
    players = Player("b", ("x",)), Player("w", ("x",))
    engines = ScriptedGo(players[0], ["D4"]), ScriptedGo(players[1], ["E5"])
    given = job(*players, game="go", move_limit=2, move_limit_result=setting)
    result = GameRunner(given, engines).play()
    assert (result.outcome, result.score, result.reason) == (outcome, score, "move limit")


# tablebases

#: King and rook against king, White to move, the queen taken next.
MATING = Opening(fen="8/8/8/4k3/8/8/3q4/R3K3 w Q - 0 1")


def tables(*, pieces: int | None = None, ignore_50_moves: bool = False) -> Tablebases:
    return Tablebases((str(TABLES),), pieces, ignore_50_moves)


@pytest.mark.parametrize(
    ("fen", "winner"),
    [
        ("8/8/8/4k3/8/8/8/R3K3 w - - 0 1", 0),
        ("8/8/8/4k3/8/8/8/R3K3 b - - 0 1", 0),
        ("8/8/8/4K3/8/8/8/r3k3 w - - 0 1", 1),
        ("8/8/8/4K3/8/8/8/1q2k3 b - - 0 1", 1),
        ("4k3/8/4K3/4P3/8/8/8/8 w - - 0 1", 0),
        ("4k3/8/8/4P3/8/8/8/4K3 b - - 0 1", None),
        ("8/8/8/8/8/8/1k6/R3K3 b - - 0 1", None),
        ("7k/8/8/8/8/8/8/K7 w - - 0 1", None),
    ],
)
def test_real_tablebases_know_who_wins(fen: str, winner: int | None) -> None:
    ending = open_tablebases(tables()).probe(fen)
    assert ending is not None
    assert (ending.winner, ending.reason) == (winner, "tablebases")


@pytest.mark.parametrize(
    "fen",
    [
        "8/8/8/4k3/8/8/8/R3K3 w Q - 0 1",  # castling is not in the tables
        "8/8/8/4k3/8/8/8/B3K3 w - - 0 1",  # no such file there
        "8/8/8/4k3/8/8/8/RR2K3 w - - 0 1",  # more men than the files have
        "8/8/8/4k3/8/8/8/R3K3 w - - 99 80",  # won, but not within the 50 moves
        "8/8/8/4k3/8/8/8/Q3K3 w - - 1 80",  # won, and no file says how soon
    ],
)
def test_tablebases_give_no_result_for_unknown_positions(fen: str) -> None:
    assert open_tablebases(tables()).probe(fen) is None


def test_fewer_pieces_than_in_the_tables_may_be_set() -> None:
    prober = open_tablebases(tables(pieces=2))
    assert prober.probe("8/8/8/4k3/8/8/8/R3K3 w - - 0 1") is None
    assert prober.probe("8/8/8/4k3/8/8/8/4K3 w - - 0 1") is not None


@pytest.mark.parametrize(
    ("wdl", "ignore", "winner"),
    [
        *[(2, False, 1), (1, False, None), (0, False, None), (-1, False, None), (-2, False, 0)],
        *[(2, True, 1), (1, True, 1), (0, True, None), (-1, True, 0), (-2, True, 0)],
    ],
)
def test_a_win_that_the_50_move_rule_spoils_is_a_draw_unless_it_is_ignored(
    wdl: int, ignore: bool, winner: int | None
) -> None:
    prober = Prober(lambda board: wdl, lambda board: None, 5, ignore_50_moves=ignore)
    ending = prober.probe("8/8/8/4k3/8/8/8/R3K3 b - - 0 1")
    assert ending is not None
    assert ending.winner == winner


@given(st.integers(-2, 2), st.integers(0, 100), st.none() | st.integers(-120, 120))
def test_only_a_sure_result_counts(wdl: int, clock: int, dtz: int | None) -> None:
    """With White to move, by the definition of the tables' values."""
    ending = Prober(lambda board: wdl, lambda board: dtz, 3).probe(
        f"8/8/8/4k3/8/8/8/R3K3 w - - {clock} 90"
    )
    if abs(wdl) < 2:
        assert ending is not None
        assert ending.winner is None
    elif clock == 0 or (dtz is not None and clock + abs(dtz) < 100):
        assert ending is not None
        assert ending.winner == (0 if wdl > 0 else 1)
    else:
        assert ending is None


def test_tablebases_end_a_game_at_the_capture_that_they_know() -> None:
    result = play(["e1d2", "e5e4"], [None] * 2, MATING, tablebases=tables())
    assert (result.outcome, result.winner, result.score) == ("win", 0, "1-0")
    assert (result.reason, result.plies, result.forfeit) == ("tablebases", 1, False)
    assert result.record is not None
    game = chess.pgn.read_game(io.StringIO(result.record))
    assert game is not None
    assert game.headers["Termination"] == "adjudication"


def test_a_folder_without_tables_is_named(tmp_path: Path) -> None:
    assert find_problem(tables()) == ""
    (tmp_path / "KQvK.rtbz").touch()
    (tmp_path / "notes.rtbw").touch()
    here = Tablebases((str(TABLES), str(tmp_path)))
    assert find_problem(here) == f"there is no Syzygy file (*.rtbw) in {tmp_path}"
    gone = Tablebases((str(tmp_path / "gone"),))
    assert find_problem(gone) == f"cannot read {tmp_path / 'gone'}: No such file or directory"


def test_a_game_with_missing_tables_is_void_with_a_reason(tmp_path: Path) -> None:
    gone = Tablebases((str(tmp_path / "gone"),))
    result = play(["e1d2"], [None], MATING, tablebases=gone)
    assert (result.outcome, result.faulty) == ("void", None)
    assert "cannot read" in result.detail


@given(st.lists(st.none() | st.integers(-50, 50) | st.sampled_from(["M3", "M-3"]), max_size=16))
def test_draws_agree_with_a_plain_reading_of_the_rule(scores: list[Said]) -> None:
    adjudicator = Adjudicator(GameSettings("chess", draw_adjudication=draw(score=20)))
    game = chess_rules()()
    for ply, score_text in enumerate(scores):
        game.play(SHUFFLE[ply])
        score, mate = split(score_text)
        last = scores[max(0, ply - 3) : ply + 1]
        level = len(last) == 4 and all(isinstance(s, int) and abs(s) <= 20 for s in last)
        verdict = adjudicator.judge(game, ply % 2, score, mate)
        assert verdict == (
            Ending(None, "adjudicated draw", "both scores within 0.20 for 2 moves")
            if level
            else None
        )
        if level:
            return


@pytest.mark.parametrize("damage", ["cut short", "emptied", "another file"])
@pytest.mark.parametrize("name", ["KRvK.rtbw", "KRvK.rtbz"])
def test_tables_that_are_no_tables_are_found_before_the_first_game(
    tmp_path: Path, name: str, damage: str
) -> None:
    for file in TABLES.glob("*.rtb?"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    assert find_problem(Tablebases((str(tmp_path),))) == ""
    data = (tmp_path / name).read_bytes()
    broken = {"cut short": data[:-1], "emptied": b"", "another file": b"GIF8" + data[4:]}
    (tmp_path / name).write_bytes(broken[damage])
    problem = find_problem(Tablebases((str(tmp_path),)))
    assert problem == f"{tmp_path / name} is not a complete Syzygy file"


def test_table_with_a_damaged_middle_is_an_error_that_names_the_position(tmp_path: Path) -> None:
    whole = (TABLES / "KRvK.rtbw").read_bytes()
    (tmp_path / "KRvK.rtbw").write_bytes(whole[:10] + b"\x7f" * (len(whole) - 10))
    prober = open_tablebases(Tablebases((str(tmp_path),)))
    with pytest.raises(EngineError, match="a tablebase cannot be read: "):
        prober.probe("8/8/8/4k3/8/8/8/R3K3 w - - 0 1")

"""Games of PGN files as labelled positions."""

from __future__ import annotations

import gzip
import math
import random
from pathlib import Path

import chess
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringmaster.errors import DataFileError
from ringmaster.formats.pgn import pgn_games
from ringmaster.formats.pgn_writer import write_pgn
from ringmaster.formats.recorded_game import RecordedGame
from ringmaster.formats.registry import FORMATS
from ringmaster.formats.source import Source
from ringmaster.model.jobs import GameSettings, Opening
from ringmaster.model.results import GameRecord, MoveRecord

TAGS = '[Event "?"]\n[Round "7"]\n[Result "1-0"]\n\n'


def games(text: str, variant: str = "standard") -> list[RecordedGame]:
    source = Source("a.pgn", "chess", variant, data=text.encode())
    recorded = list(pgn_games(source))
    source.finish()
    return recorded


def only(text: str, variant: str = "standard") -> RecordedGame:
    (game,) = games(text, variant)
    return game


def known_scores(scores: list[float]) -> list[float | None]:
    return [None if math.isnan(score) else score for score in scores]


def fault(text: str, variant: str = "standard") -> str:
    with pytest.raises(DataFileError) as caught:
        games(text, variant)
    return str(caught.value)


def test_scores_of_fastchess_belong_to_the_mover_of_the_move_before() -> None:
    game = only(
        TAGS + "1. e4 {+0.35/12 0.10s} e5 {+0.20/11 0.1s} 2. Nf3 {-M4/20 0.5s, n=5} Nc6\n"
        "{+M5/20 1.2s} 3. Bc4 {0.00/9} Bc5 {book} 1-0\n"
    )
    assert game.moves == ["e2e4", "e7e5", "g1f3", "b8c6", "f1c4", "f8c5"]
    assert known_scores(game.scores) == [35, -20, -10000, -10000, 0, None]
    assert (game.id, game.result, game.line, game.number) == ("7", 1.0, 1, 1)


def test_an_evaluation_of_lichess_is_whites_after_the_move() -> None:
    game = only(
        TAGS + "1. e4 { [%eval 0.17] [%clk 0:03:00] } 1... e5 { [%eval -0.25] } "
        "2. Nf3 { [%eval #-3] } 2... Nc6 { [%eval #2,20] } 3. Bc4 1-0"
    )
    assert known_scores(game.scores) == [None, 17, -25, -10000, 10000]


def test_an_evaluation_before_the_first_move_is_of_the_start_position() -> None:
    assert known_scores(only(TAGS + "{ [%eval 0.33] } 1. e4 1-0").scores) == [33]


def test_scores_of_tcec_are_whites_for_the_move() -> None:
    game = only(TAGS + "1. e4 {d=20, sd=30, wv=0.31, R50=50} e5 {d=19, wv=-0.12,} 1-0")
    assert known_scores(game.scores) == [31, -12]


def test_a_comment_behind_a_result_does_not_belong_to_the_next_game() -> None:
    text = TAGS + "1. e4 1-0 { [%eval 9.5] }\n\n" + TAGS + "1. d4 1-0\n"
    assert [known_scores(game.scores) for game in games(text)] == [[None], [None]]


def test_a_repeated_result_is_no_game() -> None:
    assert len(games(TAGS + "1. e4 1-0 1-0\n\n" + TAGS + "1. d4 1/2 - 1/2\n")) == 2


@pytest.mark.parametrize(
    "comment", ["0.52s", "0.52 s", "a fine move", "12", "1/2", "e2e4 0.3", "=0.35"]
)
def test_a_comment_without_a_score_is_ignored(comment: str) -> None:
    assert known_scores(only(TAGS + f"1. e4 {{{comment}}} e5 1-0").scores) == [None, None]


def test_variations_glyphs_and_notes_are_skipped() -> None:
    game = only(
        TAGS + "1. e4! $1 (1. d4 {+9.00/1 (} d5 (1... Nf6 $2)) 1... e5?! ; 2. Ke2 {\n"
        "% 2. Qh5\n2.Nf3 {a comment\n[Event over lines]\n} Nc6 1-0\n"
    )
    assert game.moves == ["e2e4", "e7e5", "g1f3", "b8c6"]
    assert known_scores(game.scores) == [None] * 4


def test_games_without_tags_end_at_their_results() -> None:
    recorded = games("1. e4 e5 1-0 1. d4 d5 1/2-1/2\n\n1. c4 *\n")
    assert [game.moves[0] for game in recorded] == ["e2e4", "d2d4", "c2c4"]
    assert [game.number for game in recorded] == [1, 2, 3]
    assert [game.line for game in recorded] == [1, 1, 3]
    assert [game.result for game in recorded[:2]] == [1.0, 0.5]
    assert not recorded[2].is_finished


def test_games_with_tags_begin_at_their_tags() -> None:
    text = TAGS + "1. e4 1-0\n\n" + '[Event "b"]\n[Result "0-1"]\n\n1. d4 0-1\n'
    recorded = games(text)
    assert [(game.line, game.result) for game in recorded] == [(1, 1.0), (7, 0.0)]


def test_a_result_tag_replaces_a_missing_result() -> None:
    assert only(TAGS + "1. e4 e5").result == 1.0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TAGS + "1. e4 e5\n2. Nf6 1-0", "a.pgn:6: game 1: 'Nf6' is not legal here (after e4 e5)"),
        (
            '\n[FEN "8/8 w - - 0 1"]\n\n1. e4 1-0',
            "a.pgn:2: game 1: expected 8 rows in position part of fen",
        ),
        ('[Variant "Atomic"]\n\n1. e4 1-0', "a.pgn:1: game 1: this is a game of 'Atomic'"),
    ],
)
def test_a_fault_is_reported_with_line_and_game(text: str, expected: str) -> None:
    assert fault(text).startswith(expected)


def test_castling_in_chess960_is_king_takes_rook() -> None:
    fen = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1"
    text = f'[Variant "Chess960"]\n[FEN "{fen}"]\n\n1. O-O O-O-O 1-0\n'
    assert only(text, "chess960").moves == ["e1h1", "e8a8"]
    assert "expected variant = 'chess960'" in fault(text)
    assert only(text.replace("Chess960", "Standard")).moves == ["e1g1", "e8c8"]


def test_positions_have_ply_length_result_and_the_movers_score(tmp_path: Path) -> None:
    path = tmp_path / "a.pgn.gz"
    text = (
        TAGS.replace("\n\n", '\n[FEN "4k3/8/8/8/8/8/4P3/4K3 b - - 3 10"]\n\n')
        + "10... Kd7 {+0.25/3} 11. e4 {+0.50/3} 1-0\n\n"
        + '[Event "b"]\n[Result "*"]\n\n1. d4 *\n\n'
        + '[Event "c"]\n[Result "0-1"]\n[Termination "time forfeit"]\n\n1. d4 0-1\n'
    )
    path.write_bytes(gzip.compress(text.encode()))
    source = Source(str(path), "chess")
    (batch,) = list(FORMATS["pgn"].read(source))
    assert batch.texts == [
        b"4k3/8/8/8/8/8/4P3/4K3 b - - 3 10",
        b"8/3k4/8/8/8/8/4P3/4K3 w - - 4 11",
    ]
    assert batch.result.tolist() == [1.0, 1.0]
    assert batch.teacher.tolist() == [25.0, 50.0]
    assert batch.ply.tolist() == [19, 20]
    assert batch.length.tolist() == [21, 21]
    assert source.counts == {"unfinished games": 1, "games lost by a fault or on time": 1}


def tolerant(text: str, variant: str = "standard") -> tuple[list[RecordedGame], Source]:
    """Return the good games of a file, with its source, which counts the bad ones."""
    source = Source("a.pgn", "chess", variant, skip_bad=True, data=text.encode())
    return list(pgn_games(source)), source


PAWN = "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"


@pytest.mark.parametrize(
    "text",
    [
        f'[SetUp "1"] [FEN "{PAWN}"]\n\n1. e4 *\n',
        f'[SetUp "1"][FEN "{PAWN}"] 1. e4 *\n',
        f'[FEN "{PAWN}"] [Annotator "a \\"b\\"]"] [Site "C:\\"]\n1. e4 *\n',
        f'[FEN\n"{PAWN}"]\n\n1. e4 *\n',
        f'[Event "long\nname"]\n[FEN "{PAWN}"]\n\n1. e4 *\n',
        f'[Event "The "best" match"] [FEN "{PAWN}"]\n\n1. e4 *\n',
        f'\ufeff[Event "a"]\r\n[FEN "{PAWN}"]\r\n\r\n1. e4 *\r\n\x1a',
    ],
)
def test_every_tag_of_a_line_or_over_lines_is_read(text: str) -> None:
    game = only(text)
    assert game.start == PAWN
    assert game.moves == ["e2e4"]


def test_a_repeated_tag_begins_a_game_only_after_an_empty_line() -> None:
    text = f'[FEN "{PAWN}"]\n[Annotator "a"]\n[Annotator "b"]\n\n1. e4 *\n'
    assert only(text).start == PAWN
    assert "a.pgn:2: game 1: there is a second position" in fault(
        f'[FEN "{PAWN}"]\n[FEN "{chess.STARTING_FEN}"]\n\n1. e4 *\n'
    )
    recorded = games(f'[FEN "{PAWN}"]\n\n[FEN "{chess.STARTING_FEN}"]\n\n1. d4 *\n')
    assert [len(game.moves) for game in recorded] == [0, 1]


def test_a_comment_may_have_lines_that_look_like_tags() -> None:
    text = '1. e4 {\n[Event "a"]\n\n[%clk 1]\n[Event "b"]\n} e5 *\n\n[Event "c"]\n\n1. d4 *'
    assert [len(game.moves) for game in games(text)] == [2, 1]


def test_a_position_that_is_announced_has_to_be_there() -> None:
    assert "no tag FEN" in fault('[SetUp "1"]\n\n1. e4 *')
    assert only(f'[SetUp "1"]\n[Fen "{PAWN}"]\n\n1. e4 *').start == PAWN


@pytest.mark.parametrize(
    "tags",
    [
        '[SetUp "1"] [FEN "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1]',
        "[FEN 4k3/8/8/8/8/8/4P3/4K3 w - - 0 1]",
        '[FEN "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1" x]',
        '[Event "a"] [FEN',
        '[Event "a"\n[FEN "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"]',
        '[Event "a" [FEN "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"]',
    ],
)
def test_text_in_a_tag_that_cannot_be_read_is_a_fault(tags: str) -> None:
    assert fault(f"{tags}\n\n1. e4 *").startswith("a.pgn:1: game 1: this is not a PGN tag: '[")
    assert fault('[Event "a"] x\n\n1. e4 *').startswith("a.pgn:1: game 1: 'x' is not a move")


@pytest.mark.parametrize(
    ("fen", "start"),
    [
        ("4k3/8/8/8/8/8/4P3/4K3 w - -", PAWN),
        ("4k3/8/8/8/8/8/4P3/4K3 w - - 3", "4k3/8/8/8/8/8/4P3/4K3 w - - 3 1"),
        ("  4k3/8/8/8/8/8/4P3/4K3  w - - 0 1;", PAWN),
        ("4k3/8/8/8/8/8/4P3/4K3 w - - 0 0", PAWN),
        (
            "r3k2r/8/8/8/8/8/4P3/R3K2R w qkQK - 0 1",
            "r3k2r/8/8/8/8/8/4P3/R3K2R w KQkq - 0 1",
        ),
    ],
)
def test_a_position_is_read_with_missing_counters_and_any_order_of_castling(
    fen: str, start: str
) -> None:
    assert only(f'[FEN "{fen}"]\n\n1. e4 *').start == start


#: Games that cannot be read, without the empty line that follows.
BAD = {
    "illegal move": "1. e4 e5 2. Ke3 Nc6 1-0",
    "null move": "1. e4 e5 2. -- Nc6 1-0",
    "null move of ChessBase": "1. e4 Z0 2. d4 1-0",
    "no move": "1. e4 hello 2. Nf3 1-0",
    "bad position": '[FEN "4k3/8/8 w - - 0 1"]\n\n1. e4 1-0',
    "other variant": '[Variant "Atomic"]\n\n1. e4 1-0',
    "open variation": "1. e4 (1. d4 e5 1-0",
    "open comment": "1. e4 {that never ends 1-0",
    "closed twice": "1. e4 (1. d4)) e5 1-0",
    "bad tag": '[White "a]\n\n1. e4 1-0',
    "nothing": '[Event "a"]',
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_a_bad_game_is_one_fault_and_the_next_game_is_read(bad: str) -> None:
    good = '[Event "good"]\n[Result "1-0"]\n\n1. d4 1-0\n\n'
    recorded, source = tolerant(f"{good}{bad}\n\n{good}{bad}\n\n{good}")
    assert [(game.number, game.moves) for game in recorded] == [
        (number, ["d2d4"]) for number in (1, 3, 5)
    ]
    assert source.counts == {"bad games": 2}
    assert ": game 2: " in source.first_bad


def test_the_first_twenty_bad_games_are_listed_at_once() -> None:
    message = fault("1. e5 *\n" * 30)
    assert message.startswith("a.pgn:1: game 1: 'e5' is not legal here\na.pgn:2: game 2: ")
    assert "a.pgn:20: game 20: " in message
    assert "game 21" not in message


@pytest.mark.parametrize("last", ["f2c3", "Z0", "0000", "hello"])
@pytest.mark.parametrize("termination", ["illegal move", "Rules infraction", "normal"])
def test_an_unplayable_last_move_that_loses_the_game_is_no_fault(
    last: str, termination: str
) -> None:
    text = (
        f'[Result "0-1"]\n[Termination "{termination}"]\n\n1. d4 {{+0.30/5 0.1s}} '
        f"d5 {{-0.30/5 0.1s}} 2. {last} {{+0.40/5 0.1s, White makes an illegal move}} 0-1\n"
    )
    game = only(text)
    assert game.moves == ["d2d4", "d7d5"]
    # the comment on the unplayable move has a score as well
    assert known_scores(game.scores) == [30, 30]
    assert (game.result, game.is_forfeit) == (0.0, True)
    assert "game 1" in fault(text.replace(" 0-1\n", " Nf6 0-1\n"))
    assert "game 1" in fault(text.replace("0-1", "1/2-1/2"))


@pytest.mark.parametrize(
    "text",
    [
        '[Termination "Time forfeit"]\n\n1. d4 0-1',
        '[Termination "bob won on time"]\n\n1. d4 0-1',
        '[Termination "bob won - game abandoned"]\n\n1. d4 0-1',
        "1. d4 {White forfeits on time} 0-1",
        "1. d4 {+0.30/5 0.1s, White loses on time} 0-1",
    ],
)
def test_a_game_lost_on_time_is_a_forfeit_in_the_words_of_every_server(text: str) -> None:
    assert only(text).is_forfeit


@pytest.mark.parametrize(
    "text",
    [
        '[Termination "bob won by resignation"]\n\n1. d4 0-1',
        "1. d4 {White wins by adjudication} 0-1",
        "1. d4 {he lost on time in another game} d5 0-1",
    ],
)
def test_other_endings_and_earlier_remarks_tell_of_no_forfeit(text: str) -> None:
    assert not only(text).is_forfeit


def test_an_unplayable_last_move_of_another_game_is_a_fault() -> None:
    assert "'f2c3' is not legal here (after d4 d5)" in fault("1. d4 d5 2. f2c3 {+0.40/5} 0-1")


def test_null_moves_of_variations_are_skipped() -> None:
    assert only("1. e4 (1. -- e5) e5 (1... Z0 2. d4) 1-0").moves == ["e2e4", "e7e5"]


@pytest.mark.parametrize(
    ("moves", "expected"),
    [
        ("1. e4 ± e5 +/- 2. Nf3 = Nc6 -/+ 3. Bb5 N a6!? D 4. Ba4 ⩲ +- ∓ !!", 7),
        ("1. e4± e5+/- 2. Nf3!?= Nc6□", 4),
        ("1 e2-e4 e7-e5 2 Ng1-f3 Nb8-c6", 4),
        ("1. e2e4 e7e5 2. g1f3 b8c6", 4),
        ("1. Pe4 Pe5 2.Nf3 ... Nc6", 4),
        ("1.e4 e5 2.Nf3 Nf6 3.Bc4 Bc5 4.0-0 0-0", 8),
        ("1.e4 e5 2.Nf3 Nf6 3.Bc4 Bc5 4.e1g1 e8g8", 8),
        ("1. e4 d5 2. ed5 Nf6 3. d4 Nd5", 6),
        ("1. e4 a6 2. e5 d5 3. exd6 e.p. cxd6 ch", 6),
        ("1. e4 a6 2. e5 d5 3. exd6e.p. c:d6", 6),
        ("1. e4 $1 e5 $10 ; 2. Ke2\n% 2. Ke2\n2. Nf3 {[%clk 0:01:00]} ..Nc6", 4),
    ],
)
def test_signs_and_other_notations_are_read(moves: str, expected: int) -> None:
    assert len(only(moves + " 1/2").moves) == expected
    assert only(moves + " 1/2").result == 0.5


@pytest.mark.parametrize("san", ["e8=Q", "e8Q", "e8(Q)", "e8/Q", "e7-e8=Q+", "e7e8q", "Pe8=Q!?"])
def test_promotions_are_read_in_other_notations(san: str) -> None:
    fen = "7k/4P3/8/8/8/8/8/4K3 w - - 0 1"
    assert only(f'[FEN "{fen}"]\n\n1. {san} (1. e8(R) Kg7) 1-0').moves == ["e7e8q"]


@pytest.mark.parametrize(
    "word", ["hello", "e9", "Nf3=Q", "1-0x", "0.5-0.5", "[", '"', "&c4", "e4e4e4"]
)
def test_any_other_word_is_a_fault_that_shows_it(word: str) -> None:
    assert word[-3:] in fault(f"1. d4 {word} e5 *").partition("game 1: ")[2]


def random_moves(seed: int, board: chess.Board) -> list[str]:
    rng = random.Random(seed)
    recorded = []
    for _ in range(rng.randrange(60)):
        legal = list(board.legal_moves)
        if not legal:
            break
        recorded.append(rng.choice(legal))
        board.push(recorded[-1])
    return [move.uci() for move in recorded]


@settings(deadline=None)
@given(seed=st.integers(0, 2**32), hostile=st.text("{}()[];%$ *\n1-0", max_size=30))
def test_our_own_records_are_read_back(seed: int, hostile: str) -> None:
    rng = random.Random(seed)
    fen = rng.choice((None, "4k2r/8/8/8/8/8/P7/4K3 b k - 4 30"))
    moves = random_moves(seed, chess.Board(fen or chess.STARTING_FEN))
    black = fen is not None
    played = [
        MoveRecord(
            move,
            i % 2,
            seconds=0.5,
            score=rng.choice((None, 0, rng.randrange(-5000, 5000))),
            depth=rng.choice((None, 12)),
            comment=hostile,
        )
        for i, move in enumerate(moves)
    ]
    record = GameRecord(
        game_id="0_012",
        event=hostile,
        date="2024-03-09",
        codes=("a", "b"),
        names=(hostile, "b"),
        settings=GameSettings("chess"),
        opening=Opening(fen, tuple(moves[:1])),
        moves=tuple(played),
        score=rng.choice(("1-0", "0-1", "1/2-1/2", "*")),
        reason="?",
    )
    game = only(write_pgn(record))
    assert game.moves == moves
    assert game.book == min(1, len(moves))
    assert game.id == "0_012"
    assert game.is_finished == (record.score != "*")
    expected = [
        None
        if move.score is None or i == 0
        else (move.score if (i % 2 == 0) != black else -move.score)
        for i, move in enumerate(played)
    ]
    assert known_scores(game.scores) == expected

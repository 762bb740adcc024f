"""Openings of a tournament's pairs, their settings, and turns of matchups."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any, cast

import chess
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringmaster.competitions.tournaments.scheduling import Holds, Turns
from ringmaster.errors import DataFileError
from ringmaster.model.jobs import GameJob
from tests.competitions.settings_of import Refused, again, call, drawn, make, uci
from tests.requirements import package


@pytest.fixture(name="book")
def make_book(tmp_path: Path) -> Path:
    path = tmp_path / "book.epd"
    boards = [chess.Board.from_chess960_pos(518) for _ in range(40)]
    path.write_text("".join(f"{b.epd(fmvn=i + 1)}\n" for i, b in enumerate(boards)))
    return path


def matchups(book: Path, count: int, policy: str = "encounter", **more: Any) -> Any:
    players = {code: uci() for code in "abcdef"}
    pairs = [("a", "b"), ("a", "c"), ("b", "c"), ("d", "e")][:count]
    return make(
        "playoff",
        game="chess",
        players=players,
        matchups=[call("Matchup", *pair, id="".join(pair)) for pair in pairs],
        openings=call("Openings", str(book), policy=policy),
        **more,
    )


def line(job: GameJob) -> int:
    return int(job.opening.source.rpartition(":")[2])


def jobs(competition: Any, count: int) -> list[GameJob]:
    return [competition.next_job() for _ in range(count)]


def by_pair(jobs: list[GameJob]) -> dict[tuple[str, int], set[int]]:
    lines: dict[tuple[str, int], set[int]] = {}
    for job in jobs:
        lines.setdefault((job.ticket["m"], job.ticket["p"]), set()).add(line(job))
    return lines


def test_by_rounds_all_matchups_share_the_opening_of_a_round(book: Path) -> None:
    issued = jobs(matchups(book, 3, "round"), 12)
    assert [line(job) for job in issued] == [1] * 6 + [2] * 6
    assert all("n" not in job.ticket for job in issued)


def test_no_opening_comes_again_before_the_book_is_through(book: Path) -> None:
    lines = Counter(line(job) for job in jobs(matchups(book, 4), 160))
    assert lines == dict.fromkeys(range(1, 41), 4)


@given(st.data())
@settings(deadline=None)
def test_interruptions_and_added_matchups_double_no_opening(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    book = make_book.__wrapped__(tmp_path_factory.mktemp("book"))  # type: ignore[attr-defined]
    count = 2
    competition = matchups(book, count)
    issued: list[GameJob] = []
    waiting: list[GameJob] = []
    for _ in range(data.draw(st.integers(5, 50))):
        if data.draw(st.integers(0, 7)) == 0:
            count = min(count + data.draw(st.integers(0, 1)), 4)
            competition = again(competition, matchups(book, count))
            for job in waiting:
                assert competition.resume(job.ticket)
                assert competition.make_job(job.id, 0, job.ticket).opening == job.opening
        elif waiting and data.draw(st.booleans()):
            job = waiting.pop(data.draw(st.integers(0, len(waiting) - 1)))
            competition.record_result(job.ticket, drawn(job))
        else:
            job = competition.next_job()
            issued.append(job)
            waiting.append(job)
    pairs = by_pair(issued)
    assert all(len(lines) == 1 for lines in pairs.values())
    used = [lines.pop() for lines in pairs.values()]
    assert sorted(used) == list(range(1, len(used) + 1))


@pytest.mark.parametrize("policies", [("round", "encounter"), ("encounter", "round")])
def test_a_changed_policy_breaks_no_pair(book: Path, policies: tuple[str, str]) -> None:
    one = matchups(book, 3, policies[0])
    # half of the pairs of two matchups are issued
    issued = jobs(one, 8)
    for job in issued:
        one.record_result(job.ticket, drawn(job))
    issued += jobs(again(one, matchups(book, 3, policies[1])), 20)
    assert all(len(lines) == 1 for lines in by_pair(issued).values())


def test_policy_encounter_repeats_no_opening_of_earlier_rounds(book: Path) -> None:
    one = matchups(book, 2, "round")
    used = {line(job) for job in jobs(one, 12)}
    later = jobs(again(one, matchups(book, 2)), 8)
    assert not used & {line(job) for job in later}


def test_plies_and_start_hold_for_a_book_in_pgn(tmp_path: Path) -> None:
    path = tmp_path / "book.pgn"
    path.write_text("1. e4 e5 2. Nf3 *\n1. d4 d5 2. c4 *\n")
    competition = make(
        "playoff",
        game="chess",
        players={"a": uci(), "b": uci()},
        matchups=[call("Matchup", "a", "b")],
        openings=call("Openings", str(path), plies=2, start=2),
    )
    assert [job.opening.moves for job in jobs(competition, 3)] == [
        ("d2d4", "d7d5"),
        ("d2d4", "d7d5"),
        ("e2e4", "e7e5"),
    ]


def chess960(**more: Any) -> Any:
    players = {"a": uci(), "b": uci()}
    settings = {"game": "chess", "variant": "chess960", "players": players, **more}
    return make("playoff", **{"matchups": [call("Matchup", "a", "b")], **settings})


def test_chess960_without_openings_has_its_960_positions_in_the_order_of_the_seed() -> None:
    one, same, other = chess960(seed=1), chess960(seed=1), chess960(seed=2)
    assert one.summary().warnings == []
    one.prepare()
    openings = [job.opening for job in jobs(one, 1920)]
    assert openings[::2] == openings[1::2]
    assert len({opening.fen for opening in openings}) == 960
    assert [job.opening for job in jobs(same, 20)] == openings[:20]
    assert [job.opening for job in jobs(other, 20)] != openings[:20]
    assert openings[0].source == f"chess960:{openings[0].source.rpartition(':')[2]}"


def test_matchups_of_one_event_may_be_of_different_variants() -> None:
    competition = chess960(
        matchups=[call("Matchup", "a", "b", variant="standard"), call("Matchup", "a", "b")]
    )
    first, second = jobs(competition, 2)
    assert (first.settings.variant, first.opening.fen) == ("standard", None)
    assert second.settings.variant == "chess960"
    assert second.opening.fen is not None


@pytest.mark.optional
def test_unknown_variant_is_refused_with_the_nearest_names() -> None:
    package("pyffish")
    message = "variant: there is no variant 'chess961'; the nearest are chess960, "
    with pytest.raises(Refused, match=re.escape(message)):
        chess960(variant="chess961")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"openings": call("Openings", "x.bin", format="polyglot")},
            "openings.format: books of the format 'polyglot' are for standard chess",
        ),
        (
            {"openings": call("Openings", "x", format="sfen")},
            "openings.format: the format 'sfen' is for shogi, not for chess",
        ),
    ],
)
def test_meaningless_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(Refused) as caught:
        chess960(**settings)
    assert str(caught.value).startswith(message)


def test_a_variant_has_no_meaning_in_go() -> None:
    with pytest.raises(Refused, match="variant: 'variant' has no meaning in go"):
        make(
            "playoff",
            board_size=9,
            komi=6,
            variant="chess960",
            players={"a": call("Player", "a"), "b": call("Player", "b")},
            matchups=[call("Matchup", "a", "b")],
        )


class Games:
    """A matchup and its tally: the number of the next game, and a limit."""

    id = ""

    def __init__(self, issued: int, limit: int) -> None:
        self.tally, self.next, self.limit = self, issued, limit

    def wants_more(self) -> bool:
        return self.next < self.limit


def plain(matchups: list[Games]) -> Games | None:
    """Return the next matchup by looking at all."""
    wanting = [matchup for matchup in matchups if matchup.wants_more()]
    return min(wanting, key=lambda matchup: matchup.next) if wanting else None


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 8)), max_size=6),
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), max_size=60),
)
def test_matchup_with_the_fewest_issued_games_is_first(
    matchups: list[tuple[int, int]], steps: list[tuple[int, int]]
) -> None:
    every = [Games(issued, limit) for issued, limit in matchups]
    turns: Any = Turns(cast(Any, every), Holds())
    for other, more in steps:
        first_matchup = turns.first()
        assert first_matchup is plain(every)
        assert turns.first() is first_matchup
        if first_matchup is not None:
            first_matchup.next += 1
        if other < len(every):
            # games of an earlier run are registered, or a test ends it
            every[other].next += more
            every[other].limit -= more == 3
    while (first_matchup := turns.first()) is not None:
        assert first_matchup is plain(every)
        first_matchup.next += 1
    assert plain(every) is None


@pytest.mark.parametrize(
    ("type_name", "settings"),
    [
        ("playoff", {"matchups": [call("Matchup", "a", "b", number_of_games=6)]}),
        ("allplayall", {"competitors": list("abc"), "rounds": 6}),
        ("gauntlet", {"challengers": ["a"], "opponents": ["b", "c"], "rounds": 6}),
        ("swiss", {"competitors": list("ab"), "rounds": 1, "games_per_pairing": 6}),
    ],
)
def test_a_pair_of_go_has_one_sgf_opening_in_both_colours(
    tmp_path: Path, type_name: str, settings: dict[str, Any]
) -> None:
    path = tmp_path / "book.sgf"
    path.write_text("(;SZ[9];B[cc];W[gg])\n(;SZ[9];B[ee])\n(;SZ[9];B[dd];W[];B[ff])\n")
    players = {code: call("Player", code) for code in "abc"}
    go = {"players": players, "board_size": 9, "komi": 7}
    tournament = make(type_name, openings=call("Openings", str(path)), **go, **settings)
    played: dict[tuple[str, int], list[GameJob]] = {}
    while (job := tournament.next_job()) is not None:
        played.setdefault((job.ticket["m"], job.ticket["p"]), []).append(job)
        tournament.record_result(job.ticket, drawn(job))
    assert {pair for _, pair in played} == {0, 1, 2}
    moves = [("C7", "G3"), ("E5",), ("D6", "pass", "F4")]
    for (_, pair), (one, other) in played.items():
        assert one.opening.moves == other.opening.moves == moves[pair]
        assert [p.code for p in one.players] == [p.code for p in reversed(other.players)]


@pytest.mark.parametrize(
    ("game", "fault"),
    [
        ("SZ[19];B[cc]", "its board is 19x19, but board_size is 9"),
        ("SZ[9]HA[2]AB[cc][gg];W[ee]", "it has setup stones"),
        ("SZ[9]AB[cc]AW[gg];B[ee]", "it has setup stones"),
        ("SZ[9]", "it has no moves"),
    ],
)
def test_an_unfit_sgf_is_refused_before_the_first_game(
    tmp_path: Path, game: str, fault: str
) -> None:
    path = tmp_path / "book.sgf"
    path.write_text(f"(;SZ[9];B[cc])\n(;{game})\n")
    tournament = make(
        "allplayall",
        players={code: call("Player", code) for code in "ab"},
        openings=call("Openings", str(path)),
        competitors=["a", "b"],
        board_size=9,
        komi=7,
    )
    with pytest.raises(DataFileError) as refused:
        tournament.prepare()
    message = str(refused.value)
    assert message.startswith(f"{path}:2: game 2: {fault}")
    assert "skip_bad=True in Openings" in message

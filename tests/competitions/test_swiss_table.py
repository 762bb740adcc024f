"""The order of a Swiss table: points, Buchholz, Sonneborn-Berger, direct encounter."""

from __future__ import annotations

from ringmaster.competitions.swiss_table import Outcome, Outcomes, Score, ranking


def outcomes(*games: str) -> dict[str, Outcome]:
    """Outcomes of a round: "ab 2-0" and "c bye 2"."""
    found: dict[str, Outcome] = {}
    for game in games:
        who, *rest = game.split()
        if rest[0] == "bye":
            found[who] = Outcome(None, float(rest[1]))
            continue
        first, second = map(float, rest[0].split("-"))
        found[who[0]] = Outcome(who[1], first, second)
        found[who[1]] = Outcome(who[0], second, first)
    return found


def order(codes: str, rounds: list[Outcomes]) -> list[tuple[str, int]]:
    return [(score.code, score.place) for score in ranking(codes, rounds)]


def of(code: str, codes: str, rounds: list[Outcomes]) -> Score:
    return next(score for score in ranking(codes, rounds) if score.code == code)


def test_nobody_is_before_anybody_else_before_the_first_round() -> None:
    assert ranking("ba", []) == [Score("b", 1, 0.0, 0.0, 0.0), Score("a", 1, 0.0, 0.0, 0.0)]


def test_points_come_first() -> None:
    assert order("abcd", [outcomes("ab 0-2", "cd 0.5-1.5")]) == [
        *(("b", 1), ("d", 2), ("c", 3), ("a", 4))
    ]


# four players, all against all: a 2½, b 2, c 1½, d 0
ROUNDS: list[Outcomes] = [
    outcomes("ab 1-0", "cd 1-0"),
    outcomes("ac 0.5-0.5", "bd 1-0"),
    outcomes("ad 1-0", "bc 1-0"),
]


def test_buchholz_leaves_out_the_least_of_the_opponents() -> None:
    points = {code: of(code, "abcd", ROUNDS).points for code in "abcd"}
    assert points == {"a": 2.5, "b": 2, "c": 1.5, "d": 0}
    buchholz = {code: of(code, "abcd", ROUNDS).buchholz for code in "abcd"}
    assert buchholz == {"a": 2 + 1.5, "b": 2.5 + 1.5, "c": 2.5 + 2, "d": 2.5 + 2}


def test_sonneborn_berger_is_what_was_taken_from_whom() -> None:
    found = {code: of(code, "abcd", ROUNDS).sonneborn_berger for code in "abcd"}
    assert found == {"a": 2 + 0.75 + 0, "b": 0 + 1.5, "c": 0.5 * 2.5 + 0, "d": 0}


def test_bye_counts_as_an_opponent_of_the_same_points() -> None:
    rounds: list[Outcomes] = [outcomes("ab 1-0", "c bye 1"), outcomes("ac 0-1", "b bye 1")]
    score = of("c", "abc", rounds)
    assert (score.points, score.buchholz, score.sonneborn_berger) == (2, 2, 2 + 1)


def test_round_that_one_was_not_in_counts_as_an_opponent_without_points() -> None:
    rounds: list[Outcomes] = [outcomes("ab 1-0"), outcomes("ac 1-0", "b bye 1")]
    score = of("c", "abc", rounds)
    assert (score.buchholz, score.sonneborn_berger) == (2, 0)


def test_direct_encounter_parts_those_that_are_level_in_all_else() -> None:
    # everybody has one point of three, and everything else is alike, too
    rounds: list[Outcomes] = [outcomes("ab 1-0", "cd 1-0"), outcomes("ad 0-1", "bc 1-0")]
    table = ranking("abcd", rounds)
    assert {(s.points, s.buchholz, s.sonneborn_berger) for s in table} == {(1, 1, 1)}
    # a and c have not met: nothing is known
    assert [(s.place, s.direct) for s in table] == [(1, None)] * 4
    two: list[Outcomes] = [
        outcomes("ab 0-1", "cd 0-1"),
        outcomes("ac 1-0", "bd 0-1"),
        outcomes("ad 0-1", "bc 0-1"),
    ]
    # a, b and c have a win each against one another
    assert order("abcd", two) == [("d", 1), ("a", 2), ("b", 2), ("c", 2)]
    assert [score.direct for score in ranking("abcd", two)] == [None, 1, 1, 1]


def test_winner_of_the_game_between_two_is_before_the_other() -> None:
    rounds: list[Outcomes] = [
        outcomes("ab 0-1", "cd 0.5-0.5"),
        outcomes("ac 1-0", "bd 0-1"),
        outcomes("ad 0.5-0.5", "bc 0.5-0.5"),
    ]
    for codes in ("abcd", "dcba"):
        a, b = of("a", codes, rounds), of("b", codes, rounds)
        assert (a.points, a.buchholz, a.sonneborn_berger) == (1.5, 3.5, 2)
        assert (b.points, b.buchholz, b.sonneborn_berger) == (1.5, 3.5, 2)
        assert (a.direct, b.direct) == (0, 1)
        assert order(codes, rounds) == [("d", 1), ("b", 2), ("a", 3), ("c", 4)]


def test_same_place_is_shared_and_the_next_one_skipped() -> None:
    table = ranking("abcd", [outcomes("ab 1-1", "cd 2-0")])
    assert [(score.code, score.place) for score in table] == [
        *(("c", 1), ("a", 2), ("b", 2), ("d", 4))
    ]

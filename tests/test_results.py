"""`ringmaster.load`: what is read of a competition, and what it is made into."""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

import ringmaster
from ringmaster.cli import run
from ringmaster.errors import ControlFileError, RingmasterError, StoreCorrupt, StoreError
from ringmaster.model.builds import Build
from ringmaster.model.results import EngineUsage, GameResult
from ringmaster.results import Game, Results
from ringmaster.results.tables import GAME_COLUMNS, flat, parameter_columns
from ringmaster.storage.store import Store
from tests.program import SPSA, write_control_file
from tests.program import ringmaster as run_ringmaster
from tests.recorded import (
    CHESS,
    GO,
    NOW,
    TUNE,
    USAGE,
    add,
    open_store,
    recorded,
    ticket,
    won,
    write,
)
from tests.requirements import package

TEXT = st.text(max_size=12)
SECONDS = st.floats(0, 1e6)
USED = st.builds(
    EngineUsage,
    name=TEXT,
    cpu_time=st.none() | SECONDS,
    peak_memory=st.none() | st.integers(0, 1 << 50),
    thinking=SECONDS,
    slowest=SECONDS,
    description=TEXT,
)


@st.composite
def results_of(draw: st.DrawFn, game_id: str) -> GameResult:
    """Any result that a worker may send."""
    outcome = draw(st.sampled_from(["win", "draw", "unknown", "void"]))
    winner = draw(st.sampled_from([0, 1])) if outcome == "win" else None
    forfeit = winner is not None and draw(st.booleans())
    faulty = 1 - winner if winner is not None and forfeit else None
    if outcome == "void":
        faulty = draw(st.sampled_from([0, 1, None]))
    return GameResult(
        game_id,
        attempt=0,
        outcome=outcome,
        winner=winner,
        reason=draw(st.sampled_from(["mate", "time", "illegal move", "repetition", ""])),
        detail=draw(TEXT),
        forfeit=forfeit,
        score=draw(st.sampled_from(["1-0", "0-1", "*"])),
        faulty=faulty,
        plies=draw(st.integers(0, 1000)),
        seconds=draw(SECONDS),
        usage=(draw(USED), draw(USED)),
    )


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[dict[str, Any], GameResult]]:
    """Tickets and results of the playoff CHESS."""
    history = []
    for number in range(draw(st.integers(0, 12))):
        if draw(st.booleans()):
            which = ticket("0", number, pair=number // 2)
        else:
            which = ticket("ca", number)
        history.append((which, draw(results_of(f"{which['m']}_{number}"))))
    return history


def rows(results: Results) -> list[dict[str, Any]]:
    return list(results.iter_rows())


def test_competition_without_a_run_has_no_results_and_gets_no_files(tmp_path: Path) -> None:
    results = ringmaster.load(write(tmp_path))
    assert (results.completed, results.void, results.total) == (0, 0, None)
    assert (results.games, results.void_games, results.runs, rows(results)) == ([], [], [], [])
    assert (results.parameters, results.candidates) == ([], [])
    assert [m.total for m in results.matchups.values()] == [0, 0]
    assert results.matchups["0"].elo is None
    assert results.matchups["0"]["a"].average_cpu_time is None
    assert [path.name for path in tmp_path.iterdir()] == ["event.ctl"]


def test_loading_writes_nothing(tmp_path: Path) -> None:
    control = recorded(write(tmp_path), [(ticket(), won("0_0"))])
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    results = ringmaster.load(str(control))
    assert len(results.games) == len(rows(results)) == results.matchups["0"].total == 1
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_results_describe_the_competition(tmp_path: Path) -> None:
    control = recorded(write(tmp_path), [])
    results = ringmaster.load(control)
    assert (results.path, results.code) == (control, "event")
    assert (results.competition_type, results.game) == ("playoff", "chess")
    assert results.description == "What it is for."
    assert results.settings["matchups"][1]["id"] == "ca"
    (run,) = results.runs
    assert run.started == datetime.fromtimestamp(NOW - 100, UTC)
    assert run.ended == datetime.fromtimestamp(NOW + 1.5, UTC)
    assert (run.number, run.reason, run.version) == (1, "competition complete", "0.1")


@pytest.mark.slow
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(histories())
def test_recorded_results_are_read_unchanged(
    history: list[tuple[dict[str, Any], GameResult]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        results = ringmaster.load(recorded(write(Path(folder)), history))
        everything = list(results.iter_games(void=True))
        assert results.games == [game for game in everything if not game.is_void]
        assert results.void_games == [game for game in everything if game.is_void]
        assert (len(results.games), len(results.void_games)) == (results.completed, results.void)
        check_matchups(results)
        with closing(Store.open_readonly(results.path.with_suffix(".status"))) as store:
            stored = [each.result for each in store.games()]
    assert len(everything) == len(history)
    for number, (game, (which, _), result) in enumerate(
        zip(everything, history, stored, strict=True), 1
    ):
        assert (game.number, game.matchup) == (number, which["m"])
        pair = ("a", "b") if which["m"] == "0" else ("c", "a")
        assert game.players == (pair[::-1] if which["b"] else pair)
        assert (game.side("white").code, game.side("black").code) == game.players
        assert game.opening == which["o"]
        assert game.finished == datetime.fromtimestamp(NOW, UTC)
        assert_same(game, result)


def assert_same(game: Game, result: GameResult) -> None:
    winner, loser = game.winner, game.loser
    if result.winner is None:
        assert (winner, loser) == (None, None)
    else:
        assert (winner, loser) == (
            game.players[result.winner],
            game.players[1 - result.winner],
        )
    assert game.faulty == (None if result.faulty is None else game.players[result.faulty])
    for side, used in zip(game.sides, result.usage, strict=True):
        for name in set(EngineUsage.__struct_fields__) - {"extra_moves"}:
            assert getattr(side, name) == getattr(used, name)
    assert (game.id, game.is_forfeit) == (result.game_id, result.forfeit)
    for name in ("attempt", "outcome", "reason", "detail", "score", "plies", "seconds"):
        assert getattr(game, name) == getattr(result, name)
    assert game.describe()


def check_matchups(results: Results) -> None:
    """Count every matchup again, the long way."""
    for id, matchup in results.matchups.items():
        games = [game for game in results.games if game.matchup == id]
        assert games == list(results.iter_games(matchup=id))
        assert matchup.total == len(games)
        assert matchup.void == sum(game.matchup == id for game in results.void_games)
        assert matchup.draws == sum(game.is_draw for game in games)
        assert matchup.unknown == sum(game.outcome == "unknown" for game in games)
        for player in matchup:
            code = player.code
            assert player.wins == sum(game.winner == code for game in games)
            assert player.losses == sum(game.loser == code for game in games)
            forfeits = [g.reason or "other" for g in games if g.is_forfeit and g.loser == code]
            assert player.forfeits == Counter(forfeits)
            assert matchup.forfeits[code] == len(forfeits)
            void = [game for game in results.void_games if game.matchup == id]
            void_kinds = [game.reason or "other" for game in void if game.faulty == code]
            assert player.void == Counter(void_kinds)
            cpu = [t for g in games if (t := g.side(code).cpu_time) is not None]
            if cpu:
                assert player.average_cpu_time == pytest.approx(sum(cpu) / len(cpu))
            else:
                assert player.average_cpu_time is None
            for colour in ("black", "white"):
                of_colour = [g for g in games if g.side(colour).code == code]
                counted = player.by_colour[colour]
                assert counted.games == len(of_colour)
                assert counted.wins == sum(g.winner == code for g in of_colour)
                assert counted.losses == sum(g.loser == code for g in of_colour)
                assert counted.draws + counted.unknown == sum(g.winner is None for g in of_colour)
        assert sum(matchup.points.values()) == matchup.total - matchup.unknown == matchup.known


@pytest.mark.parametrize("unknown", [0, 4])
def test_points_and_elo_are_those_of_the_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], unknown: int
) -> None:
    # seven pairs, three of them won twice by one side; all alike in colour for the other matchup
    winners = [0, 1, 0, 1, 1, 0, 0, 0, 1, 1, 0, 1, 1, 1]
    history = [
        (
            ticket("0", n, pair=n // 2),
            won(f"0_{n}", winner)
            if n >= unknown
            else GameResult(f"0_{n}", 0, "unknown", reason="move limit"),
        )
        for n, winner in enumerate(winners)
    ]
    control = recorded(write(tmp_path), history)
    matchups = ringmaster.load(control).matchups
    matchup = matchups["0"]
    assert (matchup.total, matchup.unknown, matchup.known) == (14, unknown, 14 - unknown)
    assert sum(matchup.points.values()) == 14 - unknown
    assert run([str(control), "show", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)["matchups"][0]
    assert matchup.elo is not None
    assert matchup.nelo is not None
    assert (shown["elo"], shown["nelo"]) == (matchup.elo.elo, matchup.nelo.nelo)
    assert shown["pentanomial"] == matchup.pentanomial
    # Black always for one side: that says nothing of the players
    assert matchups["ca"].alternating is False
    assert matchups["ca"].elo is None


def test_matchup_of_the_control_file_has_its_settings(tmp_path: Path) -> None:
    chess = ringmaster.load(write(tmp_path)).matchups
    assert list(chess) == ["0", "ca"]
    assert (chess["0"].name, chess["0"].number_of_games) == ("a v b", 10)
    assert (chess["ca"].name, chess["ca"].players) == ("the old and the new", ("c", "a"))
    assert (chess["0"].settings["move_limit"], "komi" in chess["0"].settings) == (1000, False)
    (go,) = ringmaster.load(write(tmp_path, GO)).matchups.values()
    assert [go.settings[name] for name in ("board_size", "komi", "handicap")] == [9, 6.5, 2]


@pytest.mark.parametrize(
    ("source", "changes", "line"),
    [
        (CHESS, {"reason": "time", "forfeit": True}, "game 0_0: a beat b 1-0 (time)"),
        (CHESS, {"outcome": "void", "winner": None, "reason": "crash"}, "game 0_0: void (crash): "),
        (GO, {"score": "B+R", "reason": "resignation"}, "game 0_0: a beat b B+R (resignation)"),
        (GO, {"outcome": "draw", "winner": None, "score": "0"}, "game 0_0: a v b draw 0 (mate)"),
    ],
)
def test_game_describes_itself(
    tmp_path: Path, source: str, changes: dict[str, Any], line: str
) -> None:
    control = recorded(write(tmp_path, source), [(ticket(), won("0_0", **changes))])
    (game,) = ringmaster.load(control).iter_games(void=True)
    assert game.describe() == line


def test_matchup_that_was_deleted_keeps_its_results(tmp_path: Path) -> None:
    history = [(ticket("ca", 0), won("ca_0")), (ticket("ca", 1), won("ca_1", 1))]
    control = recorded(write(tmp_path), history)
    lines = [line for line in CHESS.splitlines() if "Matchup(" not in line or '"0"' in line]
    lines.insert(-1, '    Matchup("a", "b", number_of_games=10),')
    control.write_text("\n".join(lines))
    results = ringmaster.load(control)
    matchup = results.matchups["ca"]
    assert (matchup.name, matchup.players) == ("c v a", ("c", "a"))
    assert (matchup.total, matchup.wins) == (2, {"c": 1, "a": 1})
    assert (matchup.settings, matchup.number_of_games, matchup.alternating) == ({}, None, None)


def test_go_players_have_the_colours_of_go(tmp_path: Path) -> None:
    result = won("0_0", 1, score="W+2.5", reason="score")
    control = recorded(write(tmp_path, GO), [(ticket(), result)])
    (game,) = ringmaster.load(control).games
    assert game.players == (game.side("black").code, game.side("white").code) == ("a", "b")
    assert (game.winner, game.loser, game.winning_colour) == ("b", "a", "white")
    assert game.describe() == "game 0_0: b beat a W+2.5"


def test_record_is_found_where_there_is_one(tmp_path: Path) -> None:
    void = won("0_1", outcome="void", winner=None, attempt=2)
    history = [(ticket(), won("0_0")), (ticket("0", 1), void), (ticket("0", 2), won("0_2"))]
    control = recorded(write(tmp_path), history)
    for path in ("event.games/0_0.pgn", "event.void/0_1_2.pgn"):
        (tmp_path / path).parent.mkdir()
        (tmp_path / path).touch()
    first, failed, last = ringmaster.load(control).iter_games(void=True)
    assert first.record_path == tmp_path / "event.games" / "0_0.pgn"
    assert failed.record_path == tmp_path / "event.void" / "0_1_2.pgn"
    assert last.record_path is None
    table = ringmaster.load(control).iter_rows(void=True)
    assert [row["record"] for row in table] == ["event.games/0_0.pgn", "event.void/0_1_2.pgn", None]


def test_results_do_not_change_during_a_run(tmp_path: Path) -> None:
    control = write(tmp_path)
    store = open_store(control)
    add(store, [(ticket(), won("0_0"))])
    results = ringmaster.load(control)
    add(store, [(ticket("0", 1), won("0_1")), (ticket("new", 0), won("new_0"))])
    assert [game.id for game in results.games] == ["0_0"]
    assert results.matchups["0"].total == len(rows(results)) == 1
    assert [run.ended for run in results.runs] == [None]
    store.close()
    assert [game.id for game in results.iter_games()] == ["0_0"]


def test_results_before_a_reset_are_not_mixed_with_later_ones(tmp_path: Path) -> None:
    control = recorded(write(tmp_path), [(ticket(), won("0_0"))])
    results = ringmaster.load(control)
    (tmp_path / "event.status").unlink()
    with pytest.raises(StoreError, match="there is no status file"):
        next(results.iter_games())
    store = open_store(control, started=NOW + 1000)
    add(store, [(ticket(), won("0_0", 1))])
    store.close()
    with pytest.raises(StoreError, match="was reset since it was loaded"):
        next(results.iter_games())


def test_unreadable_files_are_ringmaster_errors(tmp_path: Path) -> None:
    with pytest.raises(RingmasterError, match="no such file"):
        ringmaster.load(tmp_path / "none.ctl")
    control = recorded(write(tmp_path), [(ticket(), won("0_0"))])
    control.write_text(CHESS.replace('"chess"', '"go"'))
    with pytest.raises(RingmasterError, match=r"event\.ctl"):
        ringmaster.load(control)
    control.write_text(CHESS + "seed = 7\n")
    with pytest.raises(ControlFileError, match="seed"):
        ringmaster.load(control)
    control.write_text(CHESS)
    (tmp_path / "event.status").write_bytes(b"no database at all" * 100)
    with pytest.raises(StoreCorrupt, match=r"event\.status"):
        ringmaster.load(control)


def test_players_have_their_definitions_and_the_names_of_their_engines(tmp_path: Path) -> None:
    control = recorded(write(tmp_path), [(ticket(), won("0_0"))])
    builds = Build("a", {}, "Alpha 1", "tuned\nby hand"), Build("b", {}, "Beta")
    with closing(open_store(control)) as store, store.transaction() as transaction:
        for number, build in enumerate(builds, 1):
            transaction.put_build(number, build)
    results = ringmaster.load(control)
    assert list(results.players) == ["a", "b", "c"]
    a = results.players["a"]
    assert a.command == (str(tmp_path / "engine"), "-a")
    assert (a.settings["options"], a.settings["nodes"]) == ({"Hash": 8}, 1)
    assert (a.engine, a.description) == ("Alpha 1", "tuned\nby hand")
    assert (results.players["b"].engine, results.players["c"].engine) == ("Beta", "")


def test_tune_has_parameters_in_games_and_rows(tmp_path: Path) -> None:
    history = [
        ({"k": 1, "g": 0, "p": [1.5, 2], "m": [0.5, 1]}, won("000001a")),
        ({"k": 1, "g": 1, "p": [1.5, 2], "m": [0.5, 1], "o": "b.epd:7"}, won("000001b", 1)),
    ]
    results = ringmaster.load(recorded(write(tmp_path, TUNE), history))
    first, second = results.games
    assert first.players == ("e+", "e-")
    assert second.side("e-").parameters == {"x": 0.5, "n": 1}
    assert second.side("e+").parameters == {"x": 1.5, "n": 2}
    assert (first.matchup, results.matchups) == ("", {})
    assert [p["code"] for p in results.parameters] == ["x", "n"]
    names = [name for name, _, _ in GAME_COLUMNS]
    parameters = ["param_1.x", "param_1.n", "param_2.x", "param_2.n"]
    for row in results.iter_rows():
        assert list(row) == names + parameters
    assert [rows(results)[1][name] for name in parameters] == [0.5, 1, 1.5, 2]


def test_columns_have_the_kinds_of_their_parameters() -> None:
    import numpy

    columns = parameter_columns(
        [
            ({"a": 1, "b": True, "c": [1, (2.5, None)], "d": 2**60}, {}),
            ({"a": 2.5, "b": False, "c": "x", "d": 0.5, "f": 2**60}, {"z": 2**80}),
        ]
    )
    assert columns == [
        (0, "a", "number"),
        (0, "b", "boolean"),
        (0, "c", "text"),
        # a float would change it
        (0, "d", "text"),
        (0, "f", "integer"),
        (1, "z", "text"),
    ]
    assert flat([1, (2.5, None)]) == "[1, [2.5, null]]"
    assert [flat(value) for value in (numpy.float64(0.5), numpy.int32(3))] == [0.5, 3]
    assert flat({("k", 1): (Path("x"),)}).startswith("{\"('k', 1)\": [")


@pytest.mark.optional
def test_data_frame_of_games_has_the_columns_of_the_rows_with_types(tmp_path: Path) -> None:
    package("pandas")
    played = [(ticket(), won("0_0")), (ticket(number=1), won("0_1", usage=(USAGE[1], USAGE[0])))]
    results = ringmaster.load(recorded(write(tmp_path), played))
    frame = results.to_dataframe()
    assert list(frame.columns) == list(rows(results)[0])
    assert frame["finished"][0] == datetime.fromtimestamp(NOW, UTC)
    assert frame["cpu_time_1"][0] == USAGE[0].cpu_time
    types = {name: str(dtype) for name, dtype in frame.dtypes.items()}
    assert "object" not in types.values()
    names = ("game_id", "plies", "seconds", "forfeit")
    assert [types[name] for name in names] == ["string", "Int64", "float64", "boolean"]
    assert types["finished"] == "datetime64[ns, UTC]"
    assert types["player_1"] == types["outcome"] == "category"
    assert frame["peak_memory_1"].isna().tolist() == [False, True]
    (tmp_path / "event.status").unlink()
    empty = ringmaster.load(tmp_path / "event.ctl").to_dataframe()
    assert (len(empty), list(empty.columns)) == (0, list(frame.columns))
    assert {name: str(dtype) for name, dtype in empty.dtypes.items()} == types
    with pytest.raises(RingmasterError, match=r"no table 'moves'; choose from games, matchups"):
        results.to_dataframe("moves")


@pytest.mark.optional
def test_data_frames_of_matchups_and_players_have_their_counts(tmp_path: Path) -> None:
    package("pandas")
    played = [(ticket(number=i, pair=i // 2), won(f"0_{i}", i % 2)) for i in range(8)]
    results = ringmaster.load(recorded(write(tmp_path), played))
    matchups = results.to_dataframe("matchups").set_index("id")
    match = results.matchups["0"]
    row = matchups.loc["0"]
    assert (row["wins_1"], row["draws"], row["pentanomial_5"]) == (8, 0, 4)
    assert (row["players_2"], row["endings.mate"]) == ("b", 8)
    assert match.elo is not None
    assert row["elo_low"] == match.elo.low
    players = results.to_dataframe("players").set_index(["matchup", "code"])
    assert players.loc["0", "points"].to_dict() == {"a": 8, "b": 0}
    assert players.loc[("0", "a"), "average_cpu_time"] == match["a"].average_cpu_time
    assert "object" not in set(map(str, [*matchups.dtypes, *players.dtypes]))


# notebooks


@pytest.mark.slow
def test_plot_returns_one_group_of_charts_or_all(tmp_path: Path) -> None:
    played = [(ticket(number=i, pair=i // 2), won(f"0_{i}", i % 3 % 2)) for i in range(10)]
    results = ringmaster.load(recorded(write(tmp_path), played))
    figure = results.plot("elo")
    assert [axes.get_xlabel() for axes in figure.axes] == [
        "Elo of the first player over the second",
        "score of the first player, %",
    ]
    assert len(results.plot().axes) > 5
    with pytest.raises(RingmasterError, match="no chart 'Elo'; choose from elo, "):
        results.plot("Elo")
    png = figure._repr_png_()  # type: ignore[attr-defined]
    assert png.startswith(b"\x89PNG")
    assert "matplotlib.pyplot" not in sys.modules


def test_notebook_shows_results_with_hostile_names_as_text(tmp_path: Path) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    control = write(tmp_path, CHESS.replace("the old and the new", hostile))
    results = ringmaster.load(recorded(control, [(ticket("ca"), won("ca_0"))]))
    markup = results._repr_html_()
    assert "playoff: event, 1 game" in markup
    match = results.matchups["ca"]
    for text in (markup, match._repr_html_(), match["a"]._repr_html_()):
        assert "<img" not in text
        assert "<table>" in text


@pytest.mark.process
def test_results_of_a_played_tune(tmp_path: Path) -> None:
    # by a method whose estimate leaves the start at once
    control = write_control_file(tmp_path, SPSA + "method = 'constant'\n", 6)
    assert run_ringmaster(control, "-q").returncode == 0
    results = ringmaster.load(control)
    assert (results.completed, results.total) == (26, 26)
    assert [p["code"] for p in results.parameters] == ["Strength", "Width"]
    (match,) = results.matchups.values()
    assert (match.id, match.players) == ("verify1", ("duel:tuned", "duel:start"))
    assert (match.total, match.number_of_games, match.alternating) == (20, 20, True)
    assert str(match.elo) in run_ringmaster(control, "show").stdout
    for game in results.games:
        assert game.record_path is not None
        assert set(game.sides[0].parameters) == {"Strength", "Width"}

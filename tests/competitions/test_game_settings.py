"""Settings of a game and its players: rules, adjudication, records, clocks, failures."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from ringmaster.competitions.common_settings import PLAYER, PlayerDefinition
from ringmaster.competitions.game_settings import check_files
from ringmaster.competitions.tuning.closing_match_settings import VERIFY
from ringmaster.competitions.tuning.closing_match_settings import limited as limited_by
from ringmaster.errors import SettingError
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.model.go_rules import Rules
from ringmaster.model.jobs import DrawAdjudication, GameSettings, ResignAdjudication, Tablebases
from ringmaster.model.players import Player, describe_limits
from ringmaster.model.settings import INVALID, Context
from ringmaster.model.time_control import TimeControl
from tests.competitions.settings_of import AGAINST_OPPONENT, Refused, call, make, uci

#: An mc_tuner of Go with a make_candidate.
MC_TUNE: dict[str, Any] = {
    **AGAINST_OPPONENT,
    "parameters": [call("Parameter", "x", scale=call("LINEAR", 1.0, 1.0), split=2)],
    "exploration_coefficient": 0.45,
    "initial_visits": 10,
    "initial_wins": 5,
}


def job(first: Any = None, **settings: Any) -> Any:
    """Return the first job of a playoff of two Go players."""
    return make(
        "playoff",
        players={name: call("Player", name) for name in ("b", "gnugo")}
        | {"a": first or call("Player", "a")},
        matchups=[call("Matchup", "a", "b")],
        **{"board_size": 9, "komi": 6.5, **settings},
    ).next_job()


def refusal(first: Any = None, **settings: Any) -> str:
    with pytest.raises(Refused) as refused:
        job(first, **settings)
    return str(refused.value)


def test_rules_are_gomills_unless_set() -> None:
    settings = job().settings
    assert settings.rules == Rules("", "simple", "area", "none", True, False, "full")
    assert settings.scorer == "players"


@pytest.mark.parametrize(
    ("compensated", "rules", "compensation"),
    [
        (None, call("Rules", scoring="area"), "full"),
        (None, "japanese", "no"),
        (None, "AGA", "short"),
        ("short", "japanese", "short"),
        ("no", "chinese_ogs", "no"),
    ],
)
def test_the_rules_compensate_a_handicap_unless_told_otherwise(
    compensated: str | None, rules: Any, compensation: str
) -> None:
    settings = job(
        scorer="internal", rules=rules, internal_scorer_handicap_compensation=compensated
    ).settings
    assert settings.rules.compensation == compensation


def test_rules_have_a_name_or_parts() -> None:
    japanese = job(rules="Japanese").settings.rules
    assert (japanese.scoring, japanese.tax, japanese.suicide) == ("territory", "seki", False)
    own = job(rules=call("Rules", ko="situational", scoring="territory")).settings.rules
    assert (own.ko, own.tax, own.suicide) == ("situational", "seki", True)
    assert str(own) == "situational ko, territory scoring, none in seki, with suicide"


def test_a_referee_is_a_player_without_a_clock() -> None:
    settings = job(scorer="referee", referee="gnugo", time_control="600").settings
    assert settings.referee == Player("gnugo", ("gnugo",), restart="off")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rules": "japanes"}, "rules: 'japanes' names no rules; expected 'japanese'"),
        ({"rules": call("Rules", ko="super")}, "rules.ko: 'super' is not a valid choice"),
        ({"rules": "stone-scoring", "scorer": "internal"}, "does not count a group tax"),
        ({"scorer": "referee"}, "named by both 'scorer' and 'referee'; expected the code of a"),
        ({"referee": "a"}, "named by both 'scorer' and 'referee'; expected scorer = 'referee'"),
        ({"scorer": "referee", "referee": "c"}, "referee: there is no player 'c'"),
        ({"handicap": 5, "board_size": 8}, "fixed handicap 5 is too large"),
        ({"handicap": 81, "handicap_style": "free"}, "free handicap 81 is too large"),
    ],
)
def test_incompatible_rules_are_refused(settings: dict[str, Any], message: str) -> None:
    assert message in refusal(**settings)


@pytest.mark.parametrize(
    "settings",
    [{"rules": "chinese"}, {"handicap": 2}, {"scorer": "internal"}],
)
def test_rules_of_go_have_no_meaning_in_chess(settings: dict[str, Any]) -> None:
    (name,) = settings
    chess = {"game": "chess", "players": {"a": uci(), "b": uci()}}
    matchups = [call("Matchup", "a", "b")]
    with pytest.raises(Refused, match=f"'{name}' has no meaning in chess"):
        make("playoff", matchups=matchups, **chess, **settings)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"time_control": "40/60"},
            "players.a.time_control: GTP has no time control such as 40/60; "
            "expected Canadian byo-yomi, '0+40/60'",
        ),
        ({"nodes": 5}, "players.a.nodes: nodes has no meaning over GTP"),
        ({"gtp_aliases": {"genmove": "reg genmove"}}, "'reg genmove' is not one word"),
    ],
)
def test_player_settings_without_meaning_over_gtp_are_refused(
    arguments: dict[str, Any], message: str
) -> None:
    assert message in refusal(call("Player", "a", **arguments))


def shogi_job(game: str = "shogi", **settings: Any) -> Any:
    """Return the first job of a playoff of two players."""
    player = call("Player", "x", nodes=1)
    return make(
        "playoff",
        game=game,
        players={"a": player, "b": player},
        matchups=[call("Matchup", "a", "b")],
        **settings,
    ).next_job()


def test_shogi_is_played_over_usi_by_the_27_point_rule_and_recorded_as_csa() -> None:
    first_job = shogi_job()
    assert first_job.players[0].protocol == "usi"
    assert first_job.settings.entering_king == "27"
    assert first_job.settings.record_format is None


@pytest.mark.parametrize(
    ("game", "settings", "message"),
    [
        ("shogi", {"record_format": "pgn"}, "games of shogi are not recorded in pgn"),
        ("shogi", {"komi": 6.5}, "komi: 'komi' has no meaning in shogi"),
        ("chess", {"entering_king": "24"}, "'entering_king' has no meaning in chess"),
        ("chess", {"record_format": "kif"}, "games of chess are not recorded in kif"),
    ],
)
def test_settings_of_other_games_are_refused(
    game: str, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(Refused) as refused:
        shogi_job(game, **settings)
    assert message in str(refused.value)


TABLES = Path(__file__).parent.parent / "data" / "syzygy"


def settings_of(
    game: str = "chess", directory: Path = Path("/nowhere"), **settings: Any
) -> GameSettings:
    players = {"a": uci(), "b": uci()} if game != "go" else {}
    players = players or {"a": call("Player", "a"), "b": call("Player", "b")}
    if game == "go":
        settings = {"board_size": 9, "komi": 7.5, **settings}
    playoff = make(
        "playoff",
        directory,
        game=game,
        players=players,
        matchups=[call("Matchup", "a", "b")],
        **settings,
    )
    game_settings: GameSettings = playoff.next_job().settings
    return game_settings


def test_adjudication_is_set_with_the_fields_defaults() -> None:
    settings = settings_of(
        draw_adjudication=call("DrawAdjudication"),
        resign_adjudication=call("ResignAdjudication", 4, two_sided=True),
        move_limit_result="unknown",
        record_info=["nps", "pv"],
    )
    assert settings.draw_adjudication == DrawAdjudication(40, 8, 10)
    assert settings.resign_adjudication == ResignAdjudication(4, 600, True)
    assert settings.move_limit_result == "unknown"
    assert settings.record_info == ("nps", "pv")


def test_tablebases_are_folders_of_the_competition_directory(tmp_path: Path) -> None:
    assert settings_of(directory=tmp_path, tablebases="tb").tablebases == Tablebases(
        (str(tmp_path / "tb"),)
    )
    several = call("Tablebases", ["/a", "b"], pieces=5, ignore_50_moves=True)
    assert settings_of(directory=tmp_path, tablebases=several).tablebases == Tablebases(
        ("/a", str(tmp_path / "b")), 5, True
    )
    assert settings_of(tablebases="/a:/b").tablebases == Tablebases(("/a", "/b"))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"resign_adjudication": call("ResignAdjudication", score=0)}, "0 is out of range"),
        ({"tablebases": call("Tablebases", [])}, "tablebases.path"),
        ({"tablebases": 5}, "tablebases.path: 5 is not a list"),
        ({"record_info": ["nodes", "eval"]}, "record_info.1: 'eval' is not a valid choice"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(Refused) as refused:
        settings_of(**settings)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"draw_adjudication": call("DrawAdjudication")}, "engines of go give winrates; "),
        ({"draw_adjudication": call("DrawAdjudication", score=9)}, "expected winrate=0.02"),
        ({"resign_adjudication": call("ResignAdjudication")}, "expected winrate=0.05"),
        ({"resign_adjudication": call("ResignAdjudication", winrate=5)}, "5 is out of range"),
        (
            {"resign_adjudication": call("ResignAdjudication", score=9, winrate=0.05)},
            "score and winrate are two conditions; expected winrate in Go, score in chess and",
        ),
        ({"tablebases": "/a"}, "Syzygy tablebases are for chess"),
        ({"record_info": ["nodes"]}, "expected analysis in Player(…), all of which is recorded"),
    ],
)
def test_go_is_adjudicated_by_winrates_alone(settings: dict[str, Any], message: str) -> None:
    (name,) = settings
    with pytest.raises(Refused, match=rf"^{name}.*: .*{re.escape(message)}"):
        settings_of("go", **settings)


@pytest.mark.parametrize("game", ["chess", "shogi"])
def test_other_games_have_no_winrates(game: str) -> None:
    with pytest.raises(Refused, match=f"engines of {game} give scores; expected score"):
        settings_of(game, draw_adjudication=call("DrawAdjudication", winrate=0.02))


def go_playoff(player: dict[str, Any], **settings: Any) -> Any:
    players = {"a": call("Player", "katago", **player), "b": call("Player", "gnugo")}
    values = {"game": "go", "board_size": 9, "komi": 6.5, "players": players}
    return make("playoff", matchups=[call("Matchup", "a", "b")], **values, **settings)


def test_winrates_for_adjudication_come_from_a_player_with_analysis() -> None:
    rules = {
        "draw_adjudication": call("DrawAdjudication", winrate=0.02),
        "resign_adjudication": call("ResignAdjudication", winrate=0.05, two_sided=True),
    }
    settings = go_playoff({"analysis": "kata"}, **rules).next_job().settings
    assert settings.draw_adjudication == DrawAdjudication(winrate=0.02)
    assert settings.resign_adjudication == ResignAdjudication(winrate=0.05, two_sided=True)
    for name, rule in rules.items():
        with pytest.raises(Refused, match=f"^{name}: no player has analysis.*analysis='kata' or"):
            go_playoff({}, **{name: rule})
    # a candidate may have it
    tune = make("mc_tuner", **MC_TUNE, **rules)
    assert tune.next_job().settings.draw_adjudication.winrate == 0.02


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"analysis": "kata"}, "UCI gives scores without it; expected no analysis"),
        ({"visits": 5}, "visits has no meaning over UCI; expected nodes"),
        ({"playouts": 5}, "playouts has no meaning over UCI; expected nodes"),
    ],
)
def test_analysis_visits_and_playouts_are_for_go_engines(
    settings: dict[str, Any], message: str
) -> None:
    (name,) = settings
    with pytest.raises(Refused, match=rf"players\.a\.{name}: {message}"):
        playoff(player=settings)


def test_a_limit_of_visits_reaches_the_job_of_candidates_as_well() -> None:
    job = go_playoff({"analysis": "lz", "visits": 800, "score_pov": "black"}).next_job()
    player = next(player for player in job.players if player.code == "a")
    assert (player.analysis, player.visits, player.playouts) == ("lz", 800, None)
    assert [player.turns_scores(colour) for colour in (0, 1)] == [False, True]

    def limited(x: float) -> Any:
        return call("Player", "katago", visits=400 * round(x))

    tune = make("mc_tuner", **{**MC_TUNE, "make_candidate": limited})
    limits = {describe_limits(player) for player in tune.next_job().players}
    assert limits == {"", "visits 400"}
    verify = VERIFY.interpret(call("Verify", 2, visits=100, playouts=50), (), Context(Path()))
    assert verify.conditions == "limits: 100 visits, 50 playouts"
    assert describe_limits(limited_by(player, verify)) == "visits 100, playouts 50"


def test_missing_tablebases_are_reported_before_the_first_game(tmp_path: Path) -> None:
    check_files(GameSettings("chess"))
    check_files(GameSettings("chess", tablebases=Tablebases((str(TABLES),))))
    with pytest.raises(SettingError, match="there is no Syzygy file") as refused:
        check_files(GameSettings("chess", tablebases=Tablebases((str(tmp_path),))))
    assert refused.value.path == ("tablebases",)


def shogi_player(tmp_path: Any, **settings: Any) -> Player:
    context = Context(tmp_path)
    value = PLAYER.interpret(call("Player", "engine", **settings), (), context)
    assert value is not INVALID, context.problems
    assert isinstance(value, PlayerDefinition)
    return value.make("p", "shogi")


def playoff(*, player: dict[str, Any] | None = None, **settings: Any) -> Any:
    return make(
        "playoff",
        game="chess",
        players={"a": uci(**(player or {})), "b": uci()},
        matchups=[call("Matchup", "a", "b")],
        **settings,
    )


def test_limits_margin_and_pondering_reach_the_job() -> None:
    limits = {"time_control": "10+0.1", "depth": 9, "move_time": 2, "margin": 0.2}
    job = playoff(
        player={**limits, "ponder": True, "ready_timeout": 300}, failures="loss"
    ).next_job()
    player = next(player for player in job.players if player.code == "a")
    other = next(player for player in job.players if player.code == "b")
    assert (player.nodes, player.depth, player.move_time, player.margin) == (100, 9, 2, 0.2)
    assert player.time_control == TimeControl(10, 0.1)
    assert (player.ponder, player.ready_timeout) == (True, 300)
    assert (other.ponder, other.ready_timeout, other.margin) == (False, None, None)
    assert job.settings.failures == "loss"
    assert playoff().next_job().settings.failures == "void"


@pytest.mark.parametrize(
    ("player", "problem"),
    [
        ({"margin": -1}, "players.a.margin"),
        ({"score_pov": "engine"}, "players.a.score_pov"),
        ({"ready_timeout": 0}, "players.a.ready_timeout"),
        ({"ponder": "yes"}, "players.a.ponder"),
        ({"time_control": "0+10byo"}, "players.a.time_control: UCI has no byo-yomi"),
        ({"time_control": "9+1+10byo"}, "players.a.time_control: UCI has no byo-yomi"),
    ],
)
def test_what_makes_no_sense_is_refused(player: dict[str, Any], problem: str) -> None:
    with pytest.raises(Refused, match=problem):
        playoff(player=player)


def test_view_of_scores_reaches_the_job_and_go_engines_have_none() -> None:
    job = playoff(player={"score_pov": "white"}).next_job()
    assert {player.code: player.score_pov for player in job.players} == {"a": "white", "b": "mover"}
    with pytest.raises(Refused, match=r"players\.a\.score_pov: GTP has no scores"):
        make(
            "playoff",
            game="go",
            board_size=9,
            komi=6.5,
            players={"a": call("Player", "gnugo", score_pov="white"), "b": call("Player", "x")},
            matchups=[call("Matchup", "a", "b")],
        )


def test_go_engine_has_no_increment_with_byo_yomi() -> None:
    player = call("Player", "gnugo", time_control="600+5+10byo")
    with pytest.raises(Refused, match=r"GTP has no increment with byo-yomi such as 600\+5\+10byo"):
        make(
            "playoff",
            game="go",
            board_size=9,
            komi=6.5,
            players={"a": player, "b": call("Player", "gnugo")},
            matchups=[call("Matchup", "a", "b")],
        )


def test_go_engine_cannot_ponder() -> None:
    with pytest.raises(Refused, match=r"players\.a\.ponder: GTP has no pondering"):
        make(
            "playoff",
            game="go",
            board_size=9,
            komi=6.5,
            players={"a": call("Player", "gnugo", ponder=True), "b": call("Player", "gnugo")},
            matchups=[call("Matchup", "a", "b")],
        )


@pytest.mark.parametrize(
    "control", ["600", "600+10", "600+10byo", "0+10byo", "600+1x10", "600+5+10byo"]
)
def test_clocks_of_usi(tmp_path: Any, control: str) -> None:
    player = shogi_player(tmp_path, time_control=control)
    assert player.time_control == TimeControl.parse(control)


@pytest.mark.parametrize(
    ("control", "problem"),
    [
        ("40/60", "USI has no time control for a number of moves such as 40/60"),
        ("600+5x30", "USI has no byo-yomi of several periods such as 600[+]5x30"),
        ("600+25/300", "USI has no Canadian byo-yomi such as 600[+]25/300"),
    ],
)
def test_clocks_that_usi_has_no_word_for_are_refused(
    tmp_path: Any, control: str, problem: str
) -> None:
    with pytest.raises(SettingError, match=problem) as refused:
        shogi_player(tmp_path, time_control=control)
    assert refused.value.path == ("time_control",)


def test_shogi_player_without_any_limit_is_refused(tmp_path: Any) -> None:
    with pytest.raises(SettingError, match="nothing limits the moves"):
        shogi_player(tmp_path)


MARGINS = """competition_type = "mc_tuner"
game = "chess"
margin = {top}
players = {{"opp": Player("engine", nodes=9,
                        margin={own})}}
opponent = "opp"
candidate_colour = "alternating"
def make_candidate(x):
    return Player("engine", nodes=9, margin={made})
parameters = [Parameter("x", split=3, scale=LINEAR(1, 9))]
exploration_coefficient = 0.4
initial_visits = 2
initial_wins = 1
number_of_games = 100
"""


@pytest.mark.slow
def test_margin_of_ten_seconds_or_more_has_a_warning_at_its_line(tmp_path: Any) -> None:
    control = tmp_path / "tune.ctl"
    control.write_text(MARGINS.format(top=50, own=10, made=200))
    expected_warnings = [
        line for line in LoadedCompetition(control).warnings() if "margin" in line.splitlines()[0]
    ]
    heads = sorted(line.splitlines()[0].partition("tune.ctl:")[2] for line in expected_warnings)
    assert heads == [
        "3:10: warning: margin: 50 seconds: for milliseconds, write 0.05; with 50 s "
        "hardly any game is lost on time",
        "5:32: warning: players['opp'].margin: 10 seconds: for milliseconds, write "
        "0.01; with 10 s hardly any game is lost on time",
        "8:5: warning: make_candidate: margin: 200 seconds: for milliseconds, write "
        "0.2; with 200 s hardly any game is lost on time",
    ]
    assert "    3 | margin = 50" in expected_warnings[0] + expected_warnings[1]


@pytest.mark.parametrize(
    ("control", "said"),
    [
        ("10:0.1", "'10:0.1' is 10 minutes and 0.1 seconds; for seconds with an increment write "),
        ("40/1:0.6", "'40/1:0.6' is 1 minute and 0.6 seconds; for seconds with an increment write"),
        ("10+0.1", ""),
        ("10:00+0.1", ""),
        ("1:30.5", ""),
    ],
)
def test_increment_behind_a_colon_has_a_warning(control: str, said: str, tmp_path: Any) -> None:
    path = tmp_path / "match.ctl"
    path.write_text(
        f"""competition_type = "playoff"
game = "chess"
players = {{"a": Player("a", time_control="{control}"), "b": Player("b", nodes=1)}}
openings = Openings("book.epd")
matchups = [Matchup("a", "b", number_of_games=2)]
"""
    )
    text = "".join(LoadedCompetition(path).warnings())
    assert (said in text) if said else (text == "")
    assert ("match.ctl:3:42: warning: players['a'].time_control: " in text) == bool(said)


def test_smaller_margins_have_no_warning(tmp_path: Any) -> None:
    control = tmp_path / "tune.ctl"
    control.write_text(MARGINS.format(top=9.9, own=0, made=1))
    assert not any("margin" in line for line in LoadedCompetition(control).warnings())


def test_each_matchup_with_rules_of_its_own_has_checks_of_its_players_and_its_referee() -> None:
    players = {name: call("Player", name) for name in ("a", "b", "judge")}
    matchups = [
        call("Matchup", "a", "b"),
        call("Matchup", "a", "b", rules="japanese"),
        call("Matchup", "a", "b", rules="japanese", name="the same"),
    ]
    playoff = make("playoff", players=players, matchups=matchups, board_size=9, komi=6.5)
    checks = playoff.setup().checks
    assert [(job.id, job.settings.rules.name) for job in checks] == [
        ("check-a", ""),
        ("check-a-1", "japanese"),
        ("check-b", ""),
        ("check-b-1", "japanese"),
    ]


def test_a_referee_is_checked_before_the_first_game(tmp_path: Path) -> None:
    (tmp_path / "event.ctl").write_text("""
competition_type = "playoff"
players = {"a": Player("a"), "b": Player("b"), "judge": Player("judge", visits=9)}
matchups = [Matchup("a", "b"), Matchup("a", "b", rules="aga"), Matchup("b", "a", rules="aga")]
scorer, referee = "referee", "judge"
board_size, komi, number_of_games = 9, 6.5, 1
""")
    checks = LoadedCompetition(tmp_path / "event.ctl").setup().checks
    assert [(job.id, job.player.visits, job.settings.rules.name) for job in checks[4:]] == [
        ("check-judge-referee", 9, ""),
        ("check-judge-referee1", 9, "aga"),
    ]

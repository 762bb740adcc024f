"""The results of a store for charts."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ringmaster.competitions.competition import LongHistory
from ringmaster.model.jobs import CLOSING, is_of_closing_match
from ringmaster.model.results import GameResult
from ringmaster.storage.store import Store
from tests.recorded import CHESS, TUNE, recorded, ticket, won, write


def void(game_id: str) -> GameResult:
    return won(game_id, None, outcome="void", reason="crash")


USED = ("cpu_time", "peak_memory", "thinking", "slowest", "ponder_cpu_time", "extra_moves")


def test_history_has_the_fields_that_charts_read(tmp_path: Path) -> None:
    control = write(tmp_path, CHESS)
    results = [won("0_0", detail='é, a "b"'), won("0_1", 1, forfeit=True, faulty=0), void("0_2")]
    recorded(control, [(ticket(number=i), result) for i, result in enumerate(results)])
    with_usage = Store.open_readonly(control.with_suffix(".status"))
    pairs = list(with_usage.history())
    games = list(with_usage.games())
    assert [t for t, _ in pairs] == [game.ticket for game in games]
    for (_, result), game in zip(pairs, games, strict=True):
        for name in ("id", "outcome", "winner", "reason", "detail", "forfeit", "faulty", "plies"):
            assert getattr(result, name) == getattr(game.result, name)
        for used, expected in zip(result.usage, game.result.usage, strict=True):
            for name in USED:
                assert getattr(used, name) == getattr(expected, name)
    assert all(
        msgspec.structs.asdict(result)["usage"][0].thinking == 0
        for _, result in with_usage.history(usage=False)
    )
    with_usage.close()


def test_sample_has_its_share_of_both_sides_and_all_games_with_the_key(tmp_path: Path) -> None:
    control = write(tmp_path, TUNE)
    tickets = [{"k": i // 2, "g": i % 2} for i in range(4000)]
    closing = [{"kind": CLOSING, "v": 0, "g": i} for i in range(5)]
    everything = [*tickets, *closing]
    recorded(control, [(each, won(f"0_{i}")) for i, each in enumerate(everything)])
    store = Store.open_readonly(control.with_suffix(".status"))
    history = store.history()
    assert isinstance(history, LongHistory)
    sample = [each for each, _ in history.sample(0.1, "kind")]
    assert [each for each in sample if is_of_closing_match(each)] == closing
    sides = [each["g"] for each in sample if not is_of_closing_match(each)]
    assert 300 < len(sides) < 500
    assert 0.4 < sum(sides) / len(sides) < 0.6
    # an iteration reads them again, and a sample is always the same
    assert sample == [each for each, _ in history.sample(0.1, "kind")]
    assert sum(1 for _ in history) == len(everything)
    store.close()


def test_faults_are_the_last_void_games_and_forfeits_before_a_game(tmp_path: Path) -> None:
    control = write(tmp_path, CHESS)
    results = [void("0_0"), won("0_1", forfeit=True), won("0_2"), void("0_3"), void("0_4")]
    recorded(control, [(ticket(number=i), result) for i, result in enumerate(results)])
    store = Store.open_readonly(control.with_suffix(".status"))
    assert [game.result.id for game in store.faults(5, 2)] == ["0_1", "0_3"]
    assert [game.result.id for game in store.faults(5, 9)] == ["0_0", "0_1", "0_3"]
    store.close()


def test_chosen_tickets_are_spread_evenly_and_the_last_is_among_them(tmp_path: Path) -> None:
    control = write(tmp_path, TUNE)
    recorded(control, [({"k": i, "g": 0}, won(f"0_{i}")) for i in range(1000)])
    store = Store.open_readonly(control.with_suffix(".status"))
    chosen = [ticket["k"] for ticket in store.sample(10)]
    assert chosen == list(range(99, 1000, 100))
    assert len(store.sample(5000)) == 1000
    store.close()

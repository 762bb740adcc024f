"""Building position files: split by games, merged duplicates, filters, and checked labels."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ringmaster.datasets import spool
from ringmaster.datasets.ingest import Draw
from ringmaster.datasets.position_set import build_positions
from ringmaster.datasets.position_settings import PositionSettings
from ringmaster.errors import DataFileError, StoreCorrupt
from ringmaster.formats import text_formats
from ringmaster.positions import PositionFile
from tests.datasets.sets import Row, bars, build_set, line, make, refusal, rows
from tests.requirements import package

MANY = rows(60, 60, 7)


def games_of(read: PositionFile, known: tuple[Row, ...]) -> list[int]:
    """Return the game of each position in a file."""
    by_fen = {row.fen: row.game for row in known}
    return [by_fen[read.text(i).decode()] for i in range(len(read))]


@pytest.mark.parametrize("validation", [0.1, 0.25, 0.5])
def test_split_is_by_game_and_has_the_requested_share(tmp_path: Path, validation: float) -> None:
    read = make(tmp_path, bars(MANY), duplicates="keep", validation=validation)
    games = games_of(read, MANY)
    training, held = set(games[: read.train]), set(games[read.train :])
    assert not training & held
    count = len(training | held)
    assert len(held) == round(validation * count)
    # not by place
    assert min(held) < count / 2 < max(held)
    for i, game in enumerate(games):
        assert (read.group[i] == read.group[games.index(game)]).all()
    assert len(set(read.group.tolist())) == count


def test_split_depends_on_the_seed_only(tmp_path: Path) -> None:
    text = bars(MANY)
    first, again, other = (
        make(tmp_path, text, f"{name}.bar", seed=seed).texts(0, 3000)
        for name, seed in (("a", 1), ("b", 1), ("c", 2))
    )
    assert first == again != other


def test_positions_without_counters_are_grouped_into_games_by_similar_boards(
    tmp_path: Path,
) -> None:
    text = "".join(f'{" ".join(r.fen.split()[:4])} c9 "{RESULT[r.result]}";\n' for r in MANY)
    read = make(tmp_path, text, "set.epd", duplicates="keep")
    by_place = {" ".join(r.fen.split()[:4]): r.game for r in MANY}
    games = [by_place[" ".join(read.text(i).decode().split()[:4])] for i in range(len(read))]
    assert not set(games[: read.train]) & set(games[read.train :])


RESULT = {1.0: "1-0", 0.5: "1/2-1/2", 0.0: "0-1"}


def test_shuffled_set_counts_each_position_as_a_game_with_a_note(tmp_path: Path) -> None:
    order = np.random.default_rng(1).permutation(len(MANY))
    text = "".join(
        f'{" ".join(MANY[i].fen.split()[:4])} c9 "{RESULT[MANY[i].result]}";\n' for i in order
    )
    read = make(tmp_path, text, "set.epd", duplicates="keep", in_check=True)
    assert len(set(read.group.tolist())) > 0.95 * len(MANY)
    assert any("if it is shuffled" in n or "of its own" in n for n in read.notes)
    assert abs(read.validation - len(MANY) / 4) < len(MANY) / 20


def test_names_of_games_keep_shuffled_positions_together(tmp_path: Path) -> None:
    order = np.random.default_rng(1).permutation(len(MANY))
    text = "".join(
        line("epd", MANY[i]).replace("c9", f'id "game {MANY[i].game}"; c9') for i in order
    )
    read = make(tmp_path, text, "set.epd", duplicates="keep")
    games = games_of(read, MANY)
    assert not set(games[: read.train]) & set(games[read.train :])
    assert len(set(read.group.tolist())) == len(set(games))


def test_progress_is_ply_divided_by_length(tmp_path: Path) -> None:
    read = make(tmp_path, bars(rows(6)), duplicates="keep", in_check=True)
    by_fen = {row.fen: row for row in rows(6)}
    last = {row.game: row.ply for row in rows(6)}
    for i in range(len(read)):
        row = by_fen[read.text(i).decode()]
        assert read.ply[i] == row.ply
        assert read.progress[i] == pytest.approx(row.ply / last[row.game])


def test_equal_positions_become_one_with_averaged_labels(tmp_path: Path) -> None:
    row = next(r for r in rows(3) if r.ply == 20)
    place = " ".join(row.fen.split()[:4])
    more = [
        replace(row, fen=f"{place} 3 40", score=100, result=1.0),
        replace(row, fen=f"{place} 9 50", score=-40, result=0.0),
        replace(row, fen=f"{place} 0 60", score=0, result=0.5),
    ]
    text = bars([*more, *(r for r in rows(3) if not r.fen.startswith(place))])
    read = make(tmp_path, text)
    (at,) = (i for i in range(len(read)) if read.text(i).startswith(place.encode()))
    assert read.text(at) == f"{place} 3 40".encode()
    merged_row = (read.result[at], read.teacher[at], read.weight[at])
    assert merged_row == (0.5, 20.0, 3.0)
    assert any(note.startswith("left out: ") and "merged" in note for note in read.notes)


def test_duplicates_in_training_and_validation_are_reported(tmp_path: Path) -> None:
    read = make(tmp_path, bars(MANY + MANY), duplicates="keep", validation=0.5)
    assert any("of validation also occur in training" in note for note in read.notes)
    assert len(make(tmp_path, bars(MANY + MANY), "b.bar")) < len(read) / 1.9


@pytest.mark.parametrize("duplicates", ["merge", "keep"])
def test_equal_positions_are_recognised_in_any_number_of_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, duplicates: str
) -> None:
    text = bars(MANY + MANY[:100])
    whole = make(tmp_path, text, duplicates=duplicates)
    monkeypatch.setattr(spool, "_BLOCK", 300)
    monkeypatch.setattr(spool, "_SORTED", 500)
    parts = make(tmp_path, text, "b.bar", duplicates=duplicates)
    assert parts.texts(0, len(parts)) == whole.texts(0, len(whole))
    np.testing.assert_array_equal(parts.weight, whole.weight)
    assert parts.notes[1:] == whole.notes[1:]


def test_filters_count_dropped_positions(tmp_path: Path) -> None:
    read = make(tmp_path, bars(MANY), score_cap=300, first_ply=10, most=500, duplicates="keep")
    assert len(read) == 500
    assert float(np.abs(read.teacher).max()) <= 300
    assert int(read.ply.min()) >= 10
    text = "\n".join(read.notes)
    for words in ("in check", "score beyond the cap", "before ply 10", "positions drawn"):
        assert words in text
    counted = [int(n.split()[2].replace(",", "")) for n in read.notes if n.startswith("left out")]
    assert f"500 positions drawn of {len(MANY) - sum(counted):,}" in read.notes


@pytest.mark.parametrize("most", [1, 50, 10**6])
def test_a_draw_while_reading_is_the_same_for_any_size_of_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    whole = make(tmp_path, bars(MANY), most=most)
    monkeypatch.setattr(text_formats, "SIZE", 17)
    parts = make(tmp_path, bars(MANY), "b.bar", most=most)
    every = make(tmp_path, bars(MANY), "c.bar")
    assert len(whole) == min(most, len(every))
    assert parts.texts(0, len(parts)) == whole.texts(0, len(whole))
    np.testing.assert_array_equal(parts.progress, whole.progress)


def test_all_copies_of_a_drawn_position_are_merged(tmp_path: Path) -> None:
    changed = [replace(row, result=1.0, score=0) for row in MANY]
    read = make(tmp_path, bars([*MANY, *changed]), most=60, in_check=True)
    assert len(read) == 60
    assert set(read.weight.tolist()) == {2.0}


def test_another_seed_draws_other_positions(tmp_path: Path) -> None:
    one, two = (make(tmp_path, bars(MANY), most=60, seed=seed) for seed in (1, 2))
    assert set(one.texts(0, 60)) != set(two.texts(0, 60))


def test_a_draw_keeps_little_in_memory() -> None:
    draw = Draw(PositionSettings((), most=100), 1)
    keys = np.arange(300_000, dtype=np.uint64)
    kept = sum(int((draw.words(part) <= draw.limit).sum()) for part in np.split(keys, 100))
    draw.finish()
    assert kept < 100_000
    assert draw.notes() == ["100 different positions drawn of 300,000"]


def test_each_source_has_points_of_view_and_limits_of_its_own(tmp_path: Path) -> None:
    half = [row for row in MANY if row.game < 30]
    rest = [mover(row, score=True) for row in MANY if row.game >= 30]
    (tmp_path / "a.bar").write_text(bars(half))
    (tmp_path / "b.bar").write_text(bars(rest))
    sources = [
        PositionSettings((str(tmp_path / "a.bar"),), most=70, in_check=True),
        PositionSettings((str(tmp_path / "b.bar"),), score_pov="mover", first_ply=10),
    ]
    target = tmp_path / "made.positions"
    read = build_positions("chess", "standard", sources, 0, 1, target, lambda _: None)
    scores = {row.fen: row.score for row in MANY}
    games = {row.fen: row.game for row in MANY}
    texts = [text.decode() for text in read.texts(0, len(read))]
    assert read.teacher.tolist() == [scores[text] for text in texts]
    assert sum(games[text] < 30 for text in texts) == 70
    assert min(read.ply[i] for i, text in enumerate(texts) if games[text] >= 30) >= 10


def mover(row: Row, *, score: bool = False, result: bool = False) -> Row:
    """Return a row with the mover's label."""
    if row.white:
        return row
    return replace(
        row,
        score=-row.score if score else row.score,
        result=1 - row.result if result else row.result,
    )


def test_scores_of_the_mover_are_detected_and_converted_on_request(tmp_path: Path) -> None:
    text = bars([mover(row, score=True) for row in MANY])
    error_text = refusal(tmp_path, text)
    assert error_text == (
        "set.bar: read as White's, the scores of positions with Black to move contradict the "
        'men on the board; score_pov="mover", if they are the mover\'s; score_pov="white" keeps '
        "them unchanged"
    )
    converted = make(tmp_path, text, "b.bar", score_pov="mover")
    right = make(tmp_path, bars(MANY), "c.bar")
    np.testing.assert_array_equal(converted.teacher, right.teacher)


def test_results_of_the_mover_are_detected(tmp_path: Path) -> None:
    error_text = refusal(tmp_path, bars([mover(row, result=True) for row in MANY]))
    assert "the results of positions with Black to move contradict" in error_text
    assert 'result_pov="mover"' in error_text


def test_scores_of_white_in_a_format_of_the_mover_are_detected(tmp_path: Path) -> None:
    text = "".join(line("plain", mover(row, score=True)) for row in MANY)
    assert 'score_pov="white", if they are White\'s' in refusal(tmp_path, text, "set.plain")


def test_scores_of_the_other_side_are_detected(tmp_path: Path) -> None:
    error_text = refusal(tmp_path, bars([replace(row, score=-row.score) for row in MANY]))
    assert "the scores of positions contradict the men on the board; look at how" in error_text


def test_right_and_random_labels_raise_no_error(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    noise = [replace(r, score=int(rng.normal(0, 200)), result=rng.integers(3) / 2) for r in MANY]
    for name, chosen in (("a.bar", list(MANY)), ("b.bar", noise)):
        assert not any("contradict" in n for n in make(tmp_path, bars(chosen), name).notes)


def test_losing_with_more_material_raises_no_error(tmp_path: Path) -> None:
    """Sacrifices: results contradict the material a little, for both sides."""
    rng = np.random.default_rng(5)
    chosen = [
        replace(r, score=0, result=float(rng.random() < 0.5 - np.tanh(r.score / 500) / 10))
        for r in MANY
    ]
    assert not any("contradict" in n for n in make(tmp_path, bars(chosen)).notes)


def test_a_moved_folder_does_not_change_the_set(tmp_path: Path) -> None:
    (tmp_path / "before").mkdir()
    key = make(tmp_path / "before", bars()).key
    (tmp_path / "before").rename(tmp_path / "behind")
    messages: list[str] = []
    assert build_set((tmp_path / "behind" / "set.bar",), messages=messages).key == key
    assert messages == []


def test_equal_results_hold_no_information(tmp_path: Path) -> None:
    text = "".join(f"{row.fen} [1-0]\n" for row in rows(3))
    assert "all results are 1: they hold no information" in refusal(tmp_path, text, "a.fen")


def test_second_start_reuses_the_position_file(tmp_path: Path) -> None:
    messages: list[str] = []
    make(tmp_path, bars(), messages=messages)
    before = (tmp_path / "made.positions").stat().st_mtime_ns
    assert any("positions read from set.bar (bar)" in line for line in messages)
    messages.clear()
    build_set((tmp_path / "set.bar",), messages=messages)
    assert messages == []
    assert (tmp_path / "made.positions").stat().st_mtime_ns == before


@pytest.mark.parametrize("change", ["file", "settings", "seed", "share", "damage"])
def test_a_changed_source_rebuilds_the_position_file(tmp_path: Path, change: str) -> None:
    first = make(tmp_path, bars())
    key, source = first.key, tmp_path / "set.bar"
    more: dict[str, object] = {}
    if change == "file":
        os.utime(source, ns=(1, 1))
    elif change == "settings":
        more["first_ply"] = 3
    elif change == "seed":
        more["seed"] = 2
    elif change == "share":
        more["validation"] = 0.5
    else:
        data = (tmp_path / "made.positions").read_bytes()
        (tmp_path / "made.positions").write_bytes(data[:-100])
    messages: list[str] = []
    again = build_set((source,), messages=messages, **more)  # type: ignore[arg-type]
    assert messages
    assert (again.key == key) == (change == "damage")


def test_an_error_leaves_the_existing_file_unchanged(tmp_path: Path) -> None:
    make(tmp_path, bars())
    before = (tmp_path / "made.positions").read_bytes()
    (tmp_path / "set.bar").write_text(bars() + "nonsense\n")
    with pytest.raises(DataFileError):
        build_set((tmp_path / "set.bar",))
    assert (tmp_path / "made.positions").read_bytes() == before
    assert {p.name for p in tmp_path.iterdir()} == {"made.positions", "set.bar"}


def test_another_programs_file_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "made.positions").write_text("my thesis")
    with pytest.raises(StoreCorrupt, match="move it away"):
        make(tmp_path, bars())
    assert (tmp_path / "made.positions").read_text() == "my thesis"


def test_games_end_at_the_end_of_their_file(tmp_path: Path) -> None:
    half = [row for row in MANY if row.game < 30]
    rest = [row for row in MANY if row.game >= 30]
    (tmp_path / "a.bar").write_text(bars(half))
    (tmp_path / "b.epd").write_text("".join(line("epd", row) for row in rest))
    read = build_set((tmp_path / "a.bar", tmp_path / "b.epd"), duplicates="keep")
    whole = make(tmp_path, bars(MANY), "c.bar", duplicates="keep")
    assert read.texts(0, len(read)) == whole.texts(0, len(whole))
    np.testing.assert_array_equal(read.group, whole.group)
    assert read.notes[0].endswith("from a.bar (bar), b.epd (epd)")


@pytest.mark.optional
def test_a_chess_variant_is_read_by_its_rules(tmp_path: Path) -> None:
    package("pyffish")
    start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR[{}] w KQkq - 0 1 | {} | {}\n"
    text = start.format("", 10, 1.0) + start.format("P", 80, 0.5) + start.format("p", -80, 0.0)
    read = make(tmp_path, text, variant="crazyhouse")
    assert len(read) == 3
    bad = text + start.format("", 1, 1.0).replace("pppp/", "pppX/")
    assert "set2.bar:4" in refusal_of(tmp_path, bad, "crazyhouse")


def refusal_of(folder: Path, text: str, variant: str) -> str:
    with pytest.raises(DataFileError) as caught:
        make(folder, text, "set2.bar", variant=variant)
    return str(caught.value)


def test_chess960_keeps_its_castling_rights(tmp_path: Path) -> None:
    fen = "bqnbrkrn/pppppppp/8/8/8/8/PPPPPPPP/BQNBRKRN w GEge - 0 1"
    text = f"{fen} [1-0]\n{fen.replace(' w ', ' b ')} [0-1]\n"
    assert make(tmp_path, text, "set.fen", variant="chess960").text(0).decode().split()[2] == "GEge"
    assert "castling rights" in refusal_of(tmp_path, text, "standard")

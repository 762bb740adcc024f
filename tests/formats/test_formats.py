"""Formats of text give the same positions, are recognised, and report faults."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ringmaster.datasets.ingest import checked_batches
from ringmaster.datasets.position_settings import PositionSettings
from ringmaster.errors import DataFileError
from ringmaster.formats import source, text_formats
from ringmaster.formats.registry import format_of
from tests.datasets.sets import Row, bars, line, make, refusal, rows

FORMATS = ("epd", "fen", "bar", "comma", "plain")
START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR"
SFEN = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL"


def everything(
    folder: Path, text: str | bytes, name: str, **more: object
) -> list[tuple[object, ...]]:
    """Return all positions of a file with their labels, nothing filtered."""
    read = make(folder, text, name, in_check=True, duplicates="keep", validation=0, **more)
    assert read.validation == 0
    columns = (read.result, read.teacher, read.ply)
    numbers = zip(*(column.tolist() for column in columns), strict=True)
    return [(read.text(i).decode(), *row) for i, row in enumerate(numbers)]


def expected(row: Row) -> tuple[object, ...]:
    return (row.fen, row.result, row.score, row.ply)


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz", ".zip"])
@pytest.mark.parametrize("format", FORMATS)
def test_every_format_gives_the_same_positions(tmp_path: Path, format: str, suffix: str) -> None:
    pack = {
        "": bytes,
        ".gz": gzip.compress,
        ".bz2": bz2.compress,
        ".xz": lzma.compress,
        ".zip": lambda data: zipped({"folder/set.txt": data.decode()}),
    }[suffix]
    text = "".join(line(format, row) for row in rows(4))
    actual = everything(tmp_path, pack(text.encode()), f"set.txt{suffix}")
    assert actual == [expected(row) for row in rows(4)]


@pytest.mark.parametrize("format", FORMATS)
def test_line_ends_of_windows_and_a_byte_order_mark_change_nothing(
    tmp_path: Path, format: str
) -> None:
    text = "\ufeff" + "".join(line(format, row) for row in rows(2)).replace("\n", "\r\n")
    assert everything(tmp_path, text, "set.txt") == [expected(row) for row in rows(2)]


@pytest.mark.parametrize(
    "pack",
    [
        gzip.compress,
        bz2.compress,
        lzma.compress,
        lambda data: zipped({"set.txt": data.decode(), "__MACOSX/._set.txt": "x"}),
        lambda data: data.decode().encode("utf-16"),
        lambda data: data.decode().encode("utf-16-be").join([b"\xfe\xff", b""]),
        lambda data: data.replace(b"\n", b"\r"),
    ],
)
@pytest.mark.parametrize("format", ["fen", "plain"])
def test_the_content_of_a_file_tells_its_packing_and_line_ends(
    tmp_path: Path, pack: Callable[[bytes], bytes], format: str
) -> None:
    text = "".join(line(format, row) for row in rows(2)).encode()
    assert everything(tmp_path, pack(text), "set.txt") == [expected(row) for row in rows(2)]


def test_pieces_of_a_file_may_end_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for size in (97, 1000):
        monkeypatch.setattr(source.Source.pieces, "__defaults__", (size,))
        for format in ("fen", "plain"):
            text = "".join(line(format, row) for row in rows(2))
            actual = everything(tmp_path, text, f"set{size}.txt", format=format)
            assert actual == [expected(row) for row in rows(2)]


@pytest.mark.parametrize(
    ("tail", "result", "score"),
    [
        ("0 1 [0.5]", 0.5, None),
        ("0 1 [1/2-1/2]", 0.5, None),
        ('0 1 "1/2-1/2";', 0.5, None),
        ("0 1 [0.25] 31", 0.25, 31.0),
        ("0 1 [1.0], -12.5", 1.0, -12.5),
        ('id "a"; c9 "1/2-1/2"; bm e4', 0.5, None),
        ('c0 "a;b"; result "1-0"; ce 20;', 1.0, -20.0),
        ("c9 0.5;", 0.5, None),
        ('c9 "1-0"; c0 "0.5";', 1.0, None),
        ("ce -35;", None, 35.0),
        ("0 1  |  20 | 0.5", 0.5, 20.0),
        ("0 1 |#-3|0-1", 0.0, -10_000.0),
    ],
)
def test_notations_of_labels(
    tmp_path: Path, tail: str, result: float | None, score: float | None
) -> None:
    text = f"{START} b KQkq - {tail}\n"
    path = tmp_path / "set.txt"
    path.write_text(text)
    file = source.Source(str(path), "chess")
    (((batch, *_), _),) = checked_batches(file, format_of(file), PositionSettings((str(path),)))
    actual = [None if np.isnan(x) else float(x) for x in (batch.result[0], batch.teacher[0])]
    assert actual == [result, score]


def test_positions_without_counters_get_default_counters(tmp_path: Path) -> None:
    text = f'{START} w KQkq - c9 "1-0";\n{START} b KQkq - c9 "0-1";\n'
    read = make(tmp_path, text, "set.epd")
    assert sorted(read.texts(0, 2)) == [
        f"{START} b KQkq - 0 1".encode(),
        f"{START} w KQkq - 0 1".encode(),
    ]
    assert read.ply.tolist() == [0, 0]


def test_games_without_a_result_are_left_out_and_counted(tmp_path: Path) -> None:
    text = bars(rows(2)) + f"{START} w KQkq - 0 1 | 0 | *\n"
    read = make(tmp_path, text)
    assert "left out: 1 position of unfinished games" in read.notes


def test_heading_comments_and_blank_lines_are_skipped(tmp_path: Path) -> None:
    text = "fen,score,result\n# made by hand\n\n" + "".join(line("comma", r) for r in rows(2))
    assert everything(tmp_path, text, "set.csv") == [expected(r) for r in rows(2)]


def test_shogi_is_read_with_and_without_the_word_sfen(tmp_path: Path) -> None:
    text = f"sfen {SFEN} b - 1 [1-0]\n{SFEN} w - 4 [0-1] 40\n"
    actual = everything(tmp_path, text, "set.sfen", game="shogi")
    assert [row[0] for row in actual] == [f"{SFEN} b - 1", f"{SFEN} w - 4"]
    assert [row[1] for row in actual] == [1.0, 0.0]
    assert [row[3] for row in actual] == [0, 3]


def test_labels_of_shogi_plain_are_the_movers(tmp_path: Path) -> None:
    blocks = [
        f"sfen {SFEN} {side} - {n}\nmove 7g7f\nscore 30\nply {n}\nresult {result}\ne\n"
        for n, side, result in ((1, "b", 1), (2, "w", 1), (3, "b", 0))
    ]
    actual = everything(tmp_path, "".join(blocks), "set.plain", game="shogi")
    assert [row[1:] for row in actual] == [(1.0, 30.0, 1), (0.0, -30.0, 2), (0.5, 30.0, 3)]


def test_block_with_its_lines_in_another_order_is_read(tmp_path: Path) -> None:
    text = f"ply 3\nfen {START} b KQkq - 0 2\nresult -1\nscore 12\ne\n"
    text += f"fen {START} w KQkq - 0 3\nscore 32002\nresult 1\nply 4\nmove e2e4\ne\n"
    read = make(tmp_path, text, "set.plain", validation=0, duplicates="keep")
    assert read.result.tolist() == [1.0, 1.0]
    assert read.teacher.tolist()[0] == -12.0
    assert np.isnan(read.teacher[1])  # 32002: no score


WRONG = {
    "| nan | 1.0": "the score is 'nan', not a number of centipawns",
    "| 123456 | 1.0": "the score 123456 is beyond ±100,000 centipawns",
    "| 12 | 1.5": "the result is '1.5', not from 0 to 1",
    "| 12 | won": "the result is 'won', not 1-0, 0-1, 1/2-1/2 or a number",
    "": "expected score, result behind the position, not ' '",
}


@pytest.mark.parametrize("tail", WRONG)
def test_a_wrong_label_is_reported_with_its_line(tmp_path: Path, tail: str) -> None:
    bad = f"{rows(3)[0].fen} {tail}"
    number = len(rows(3)) + 1
    error_text, remedy = refusal(tmp_path, f"{bars(rows(3))}{bad}\n").split("\n")
    assert error_text == f"set.bar:{number}: {WRONG[tail]}: '{bad.strip()}'"
    assert remedy.startswith("skip_bad=True in Positions(…), or --skip-bad, ")


BAD = [
    "8/8/8/8/8/8/8/K6k w - - 0 1 | 12 | won",
    "this is no position",
    "7k/8/8/8/8/8/8/8 w - - 0 1 | 1 | 1.0",
    "7k/8/8/8/8/8/8/K6R w - - 0 1 | 1 | 1.0",
]


def with_bad_lines(count: int) -> tuple[str, list[int]]:
    """Return lines with some bad ones, and the numbers of the bad lines."""
    lines = bars(rows(20)).splitlines()
    numbers = [7 * i + 3 for i in range(count)]
    for i, number in enumerate(numbers):
        lines.insert(number - 1, BAD[i % len(BAD)])
    return "\n".join(lines) + "\n", numbers


def test_bad_lines_of_any_kind_are_listed_at_once(tmp_path: Path) -> None:
    text, numbers = with_bad_lines(9)
    *error_text, _ = refusal(tmp_path, text).split("\n")
    assert [line.partition(": ")[0] for line in error_text] == [f"set.bar:{n}" for n in numbers]


def test_bad_lines_are_skipped_and_counted_on_request(tmp_path: Path) -> None:
    text, numbers = with_bad_lines(60)
    actual = make(tmp_path, text, skip_bad=True, duplicates="keep")
    good = make(tmp_path, bars(rows(20)), "good.bar", duplicates="keep")
    assert actual.texts(0, len(actual)) == good.texts(0, len(good))
    assert "left out: 60 bad lines" in actual.notes
    assert any(
        f"the first bad position: {tmp_path}/set.bar:{numbers[0]}: " in n for n in actual.notes
    )


ILLEGAL = {
    "7k/8/8/8/8/8/8/8 w - - 0 1": "there is no white king",
    "7k/8/8/8/8/8/8/K6R w - - 0 1": "the side that is not to move is in check",
    "7k/8/8/8/8/8/8/K7 w K - 0 1": "the castling rights do not fit the kings and rooks",
    "7k/8/8/8/8/8/8/K7 w - e6 0 1": "no pawn has just moved past the en-passant square",
    "7k/8/8/8/8/8/8/K7 x - - 0 1": "the side to move is 'x', not w or b",
    f"{SFEN} b - 1": "this is a position of shogi, but the game is chess",
}


@pytest.mark.parametrize("fen", ILLEGAL)
def test_an_illegal_position_is_reported_with_its_line(tmp_path: Path, fen: str) -> None:
    text = bars(rows(8)) + f"{fen} | 1 | 1.0\n" + bars(rows(1))
    error_text = refusal(tmp_path, text)
    assert error_text.startswith(f"set.bar:{len(rows(8)) + 1}: ")
    assert ILLEGAL[fen] in error_text


def labels_of(text: str, name: str = "set.txt", results: str | None = None) -> list[float]:
    """Return the results of a file's positions, as the format has them."""
    file = source.Source(name, "chess", data=text.encode(), results=results)
    batches = list(format_of(file).read(file))
    file.finish()
    return [result for batch in batches for result in batch.result.tolist()]


FEN = f"{START} w KQkq - 0 1"


@pytest.mark.parametrize("form", ["{},20,{}", "{} [{}]", '{} c9 "{}";', "{} | 20 | {}", "{};{}"])
@pytest.mark.parametrize(
    ("values", "shares"),
    [
        (("1", "0.5", "0"), [1.0, 0.5, 0.0]),
        (("1", "1/2", "0"), [1.0, 0.5, 0.0]),
        (("1.0", "0.0"), [1.0, 0.0]),
        (("1", "2", "0"), [0.5, 1.0, 0.0]),
        (("1", "0", "-1"), [1.0, 0.5, 0.0]),
        (("2.0", "1.0"), [1.0, 0.5]),
    ],
)
def test_the_results_of_the_whole_file_decide_their_unit(
    form: str, values: tuple[str, ...], shares: list[float]
) -> None:
    assert labels_of("".join(form.format(FEN, value) + "\n" for value in values)) == shares


@pytest.mark.parametrize("form", ["{},20,{}", "{} [{}]", '{} c9 "{}";', "{} | 20 | {}"])
def test_results_0_and_1_only_are_asked_for(form: str) -> None:
    text = "".join(form.format(FEN, value) + "\n" for value in (1, 0, 1))
    with pytest.raises(DataFileError, match=r"0 and 1 only: .* results=\"0-1\" or results=\"0-2\""):
        labels_of(text)
    assert labels_of(text, results="0-1") == [1.0, 0.0, 1.0]
    assert labels_of(text, results="0-2") == [0.5, 0.0, 0.5]


def test_a_later_result_against_the_unit_is_reported_with_its_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(source.Source.pieces, "__defaults__", (1000,))
    monkeypatch.setattr(text_formats, "_DECIDING", 3)
    text = f"{FEN},1,0\n{FEN},2,1\n{FEN},3,2\n" + f"{FEN},9,1\n" * 40 + f"{FEN},4,0.5\n"
    assert labels_of(text)[-1] == 0.25
    with pytest.raises(DataFileError, match=r"set\.txt:44: the result is '-1', not from 0 to 2"):
        labels_of(text.replace("0.5", "-1"))


FORMS = {
    f"{FEN},0.5": (0.5, None),
    f"{FEN} | 0.5": (0.5, None),
    f"{FEN}\t1.0": (1.0, None),
    f'{FEN} "1-0"': (1.0, None),
    f"{FEN} [1.0]": (1.0, None),
    f"{FEN};35;0.5": (0.5, 35.0),
    f'"{FEN}",35,0.5': (0.5, 35.0),
    f"{FEN} | 35 | 0.5 ; a remark": (0.5, 35.0),
    f"{FEN} [0.5] # a remark": (0.5, None),
    f"{FEN} [0.5] ; seven pieces": (0.5, None),
    f"{START} w qkQK - [0.5]": (0.5, None),
    f"fen,wdl\n{FEN},0.5": (0.5, None),
    f"fen,result,score\n{FEN},0.5,35": (0.5, 35.0),
    f"# made by hand\n\nfen,result,score\n{FEN},0.5,35": (0.5, 35.0),
    f"fen;best;Score;WDL\n{FEN};e2e4;35;0.5": (0.5, 35.0),
    f"% made by hand\n; a\n# b\n{FEN} | 35 | 0.5": (0.5, 35.0),
    f"{FEN} | 35 | 0.5\x1a": (0.5, 35.0),
    f"{FEN},3.5e1,5.000000e-01": (0.5, 35.0),
    f"{FEN} [½-½] 35": (0.5, 35.0),
    f"{FEN};-#2;0.5": (0.5, -10_000.0),
    f'{START} w KQkq - c0 "½-½"; ce 35;': (0.5, 35.0),
}


@pytest.mark.parametrize("text", FORMS)
def test_every_usual_form_of_labels_is_read(tmp_path: Path, text: str) -> None:
    path = tmp_path / "set.txt"
    path.write_text(text)
    file = source.Source(str(path), "chess")
    settings = PositionSettings((str(path),), score_pov="first")
    (((batch, *_), _),) = checked_batches(file, format_of(file), settings)
    teacher = None if np.isnan(batch.teacher[0]) else float(batch.teacher[0])
    assert (float(batch.result[0]), teacher) == FORMS[text]
    board, side, castling, *more = batch.texts[0].decode().split()
    assert [board, side, "".join(sorted(castling)), *more] == FEN.split()


def test_a_bad_label_in_the_first_line_is_reported_as_such() -> None:
    with pytest.raises(DataFileError, match=r"set.txt:1: the result is 'won', not .*\[won\]"):
        labels_of(f"{FEN} [won]\n")


@pytest.mark.parametrize("heading", ["fen,w,d,l", "fen;target;x;y", "# x\nfen,label,a,b"])
def test_a_heading_without_a_known_column_is_refused(heading: str) -> None:
    with pytest.raises(DataFileError, match=r"set\.txt:\d: no column of the heading is called"):
        labels_of(f"{heading}\n{FEN},0.2,0.7,0.1\n")


def test_lines_of_json_are_refused_by_name() -> None:
    with pytest.raises(DataFileError, match="lines of JSON, which are not read"):
        labels_of(f'{{"fen": "{FEN}", "result": 1.0}}\n')


LINES = {
    FEN: (FEN, {}),
    f"{START} w KQkq -": (FEN, {}),
    f"{START} w KQkq - 0 1;": (FEN, {}),
    f"{START} w KQkq - 0 1\t; a remark": (FEN, {}),
    f"{FEN} | 35 | 0.5": (FEN, {}),
    f"{FEN} [0.5] # x": (FEN, {}),
    f'{START} w KQkq - hmvc 3; fmvn 7; id "a; b"; eco A00': (
        f"{START} w KQkq - 3 7",
        {"hmvc": "3", "fmvn": "7", "id": "a; b", "eco": "A00"},
    ),
}


@pytest.mark.parametrize("operations", ["hmvc 7;", "fmvn 9;", 'hmvc 7; fmvn 9; id "a";'])
def test_counters_of_an_epd_are_the_same_for_openings_and_for_labelled_positions(
    operations: str,
) -> None:
    text = f'{START} w KQkq - {operations} c9 "1-0";'
    file = source.Source("set.epd", "chess", data=text.encode())
    ((fen,),) = (batch.texts for batch in format_of(file).read(file))
    assert fen.decode() == text_formats.notation_of("chess").position(text)[0]
    with pytest.raises(DataFileError, match=r"hmvc and fmvn are .*'x'.*, not numbers"):
        labels_of(text.replace("7", "x").replace("9", "x").replace("cx", "c9"), "set.epd")


@pytest.mark.parametrize("line", LINES)
def test_a_line_gives_its_position_with_counters_and_its_operations(line: str) -> None:
    assert text_formats.notation_of("chess").position(line) == LINES[line]


BLOCKS = {
    "fen 8/8/8/8/8/8/8/K6k w - - 0 1\nscore 1\nresult 5\ne\n": (3, "not 1, 0 or -1"),
    "fen 8/8/8/8/8/8/8/K6k w - - 0 1\nscore 1\nresult 1\n": (1, "not closed by e"),
    "move e2e4\nscore 1\nresult 1\ne\n": (1, "no position (fen or sfen)"),
    "fen 8/8/8/8/8/8/8/K6k w - - 0 1\nply x\nresult 1\ne\n": (2, "the ply is 'x'"),
    "fen 8/8/8/8/8/8/8/K6k w - - 0 1\nply 1\ne\n": (1, "neither a result nor a score"),
    "fen 8/8/8/8/8/8/8/K7 w - - 0 1\nresult 1\nscore 3\ne\n": (1, "no black king"),
    "fen\nscore 3\ne\n": (1, ""),
    "word 3\ne\n": (1, "not one of fen, sfen"),
}


@pytest.mark.parametrize("block", BLOCKS)
def test_a_wrong_block_is_reported_with_its_line(tmp_path: Path, block: str) -> None:
    good = "".join(line("plain", row) for row in rows(1))
    number, message = BLOCKS[block]
    error_text = refusal(tmp_path, good + block, "set.plain")
    assert error_text.startswith(f"set.plain:{good.count(chr(10)) + number}: ")
    assert message in error_text


def zipped(files: dict[str, str]) -> bytes:
    """Return a zip archive without compression."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        for name, text in files.items():
            file.writestr(name, text)
    return archive.getvalue()


REFUSED: dict[str, tuple[str, str | bytes, str, str]] = {
    "empty": ("set.epd", "", "chess", "this file is empty"),
    "unlabelled": ("set.epd", f"{START} w KQkq - 0 1\n", "chess", "neither results nor scores"),
    "a remark only": ("set.epd", f"{START} w KQkq - 0 1\t; x\n", "chess", "neither results nor"),
    "another game": ("set.txt", f"{SFEN} b - 1 [1-0]\n", "chess", "a position of shogi"),
    "prose": ("set.txt", "to be or not to be\n", "chess", 'Positions(…, format="…")'),
    "bytes": ("set.bin", bytes(range(256)) * 5, "shogi", 'Positions(…, format="…")'),
    "cut off": ("set.epd.gz", gzip.compress(b"x" * 100)[:-9], "chess", "cannot be unpacked"),
    "cut off in the middle": ("set.epd.xz", lzma.compress(b"x" * 99)[:40], "chess", "unpacked"),
    "no gzip": ("set.epd.gz", b"x" * 100, "chess", "cannot be unpacked: Not a gzipped file"),
    "no bzip2": ("set.epd.bz2", b"x" * 100, "chess", "cannot be unpacked"),
    "no zip": ("set.zip", b"x" * 100, "chess", "cannot be unpacked"),
    "a damaged zip": ("set.zip", zipped({"a": "x" * 99}).replace(b"xx", b"xy"), "chess", "CRC"),
    "many in a zip": ("set.zip", zipped({"a.epd": "", "b.epd": ""}), "chess", "'a.epd', 'b.epd'"),
    "a format of another game": ("set.psv", b"x" * 40, "chess", "is for shogi"),
    "a NUL": ("set.epd", bars(rows(3)).encode() + b"\0", "chess", "has a NUL"),
    "a line without end": ("set.epd", bars(rows(1)) + "x" * 300_000, "chess", "too long"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_an_invalid_file_is_refused(tmp_path: Path, case: str) -> None:
    name, text, game, message = REFUSED[case]
    format = "bar" if "NUL" in case or "line" in case else None
    error_text = refusal(tmp_path, text, name, game=game, format=format)
    assert error_text.startswith(name)
    assert message in error_text

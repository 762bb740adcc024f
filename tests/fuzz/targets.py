"""Readers of files and messages as fuzz targets: each takes any bytes, and raises only its
documented errors.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ringmaster.errors import (
    ControlFileError,
    DataFileError,
    EngineProtocolError,
    ParameterFileError,
    RingmasterError,
    StoreError,
    UsageError,
)
from ringmaster.model.players import GameName

CONTROL_FILES = Path(__file__).parent.parent.parent / "controlfiles"


class Target(NamedTuple):
    """A reader.

    read     reads bytes; may write into the folder
    allowed  its documented errors
    seeds    returns valid inputs
    """

    read: Callable[[bytes, Path], None]
    allowed: tuple[type[Exception], ...]
    seeds: Callable[[], Sequence[bytes]]


def check(target: Target, data: bytes, folder: Path) -> None:
    """Read an input.  An error that is not documented is passed on."""
    try:
        target.read(data, folder)
    except target.allowed:
        pass


# openings and recorded games


def _openings(game: GameName, name: str) -> Callable[[bytes, Path], None]:
    def read(data: bytes, folder: Path) -> None:
        from tests.openings import opened

        path = folder / name
        path.write_bytes(data)
        with suppress(DataFileError):
            opened(path, game)
        book = opened(path, game, skip_bad=True)
        for number in range(3):
            book.pick(number)

    return read


def _epd_seeds() -> list[bytes]:
    lines = CONTROL_FILES.joinpath("openings.epd").read_bytes().splitlines(keepends=True)
    return [b"".join(lines[:5]), b"startpos moves e2e4 e7e5\n", *lines[:3]]


def _sfen_seeds() -> list[bytes]:
    lines = CONTROL_FILES.joinpath("openings.sfen").read_bytes().splitlines(keepends=True)
    return [b"".join(lines[:8]), b"startpos moves 7g7f 3c3d\n"]


_PGN = b"""[Event "a"]
[Result "1-0"]
[SetUp "1"] [FEN "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"]

1. e4 {[%eval 0.31] +0.31/12 0.5s} Kd7 $1 (1... Kf7 2. e5) 2. e5 ; rest
Ke6 3. Kd2 1-0

[Event "b"]

1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. O-O 1/2-1/2
"""

_SGF = b"(;GM[1]SZ[19]KM[7.5];B[pd];W[dp];B[pp](;W[dd])(;W[dc]C[a\\]]))\n(;SZ[9];B[ee];W[])"
_BOOK_DB = (
    b"#YANEURAOU-DB2016 1.00\n# NOE:2\n"
    b"sfen lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1\n"
    b"7g7f 3c3d 50 20 3\n2g2f none 20 20 1\n"
    b"sfen lnsgkgsnl/1r5b1/ppppppppp/9/9/2P6/PP1PPPPPP/1B5R1/LNSGKGSNL w - 2\n3c3d\n"
)


@cache
def _polyglot_seeds() -> list[bytes]:
    import chess
    import chess.polyglot

    board = chess.Board()
    key = chess.polyglot.zobrist_hash(board)
    move = (1 << 9) + (4 << 6) + (3 << 3) + 4  # e2e4
    entry = key.to_bytes(8, "big") + move.to_bytes(2, "big") + b"\0\1\0\0\0\0"
    return [entry, entry * 2]


# labelled positions


def _positions(game: GameName, name: str, format: str | None) -> Callable[[bytes, Path], None]:
    def read(data: bytes, folder: Path) -> None:
        from ringmaster.formats.registry import format_of
        from ringmaster.formats.source import Source

        path = folder / name
        path.write_bytes(data)
        source = Source(str(path), game)
        for _ in format_of(source, format).read(source):
            pass
        source.finish()

    return read


@cache
def _labelled(format: str) -> list[bytes]:
    """Return positions of chess in a format of text."""
    from tests.datasets.sets import line, rows

    return ["".join(line(format, row) for row in rows()[:4]).encode()]


@cache
def _shogi(format: str) -> list[bytes]:
    """Return positions or games of shogi in a format of ringmaster's writers."""
    from ringmaster.formats.registry import WRITTEN
    from ringmaster.formats.shogi_records import write_csa, write_kif
    from tests.datasets.test_writers import shogi_positions, written
    from tests.formats.shogi_records import random_record

    if format not in WRITTEN:
        write = write_csa if format == "csa" else write_kif
        return [write(random_record(seed)).encode() for seed in range(3)]
    return [written(format, shogi_positions(1, 4))]


def _features(suffix: str) -> Callable[[bytes, Path], None]:
    def read(data: bytes, folder: Path) -> None:
        from ringmaster.datasets.feature_set import Wanted, read_table

        path = folder / f"features{suffix}"
        path.write_bytes(data)
        for _ in read_table(str(path), Wanted(("pawn", "rook"), phase=True)):
            pass

    return read


@cache
def _npz_seeds() -> list[bytes]:
    import io

    import numpy as np

    file = io.BytesIO()
    counts = np.array([[1, 2], [0, -1]], dtype=np.int8)
    names = np.array(["pawn", "rook"])
    texts = np.array(["8/8/8/8/8/8/8/K1k5 w - - 0 1"] * 2)
    np.savez(file, features=counts, names=names, fen=texts, phase=np.array([0.5, 1.0]))
    return [file.getvalue()]


def _own_file(kind: str) -> Callable[[bytes, Path], None]:
    def read(data: bytes, folder: Path) -> None:
        from ringmaster.positions import PositionFile
        from ringmaster.positions.feature_file import FeatureFile

        path = folder / f"own.{kind}"
        path.write_bytes(data)
        if kind == "positions":
            positions = PositionFile(path)
            positions.texts(0, min(len(positions), 100))
        else:
            FeatureFile(path)

    return read


@cache
def _own_seeds(kind: str) -> list[bytes]:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "file"
        if kind == "positions":
            from tests.positions.test_position_file import write

            write(path, [(b"8/8 w", False, 0.5, 7, 9)] * 3)
        else:
            from tests.positions import test_feature_file

            test_feature_file.write(path, [{0: 1.0}, {1: 2.0, 2: 3.0}], [0, 1], phase=True)
        return [path.read_bytes()]


# messages of engines


def _uci(data: bytes, folder: Path) -> None:
    from ringmaster.engines import score_streams
    from ringmaster.engines.uci_messages import (
        Go,
        Handshake,
        Ready,
        describe_unknown,
        last_score_lines,
        read_info,
        read_pv,
        read_score,
        score_line,
    )

    lines = data.rstrip(b"\n") + b"\n"
    for line in lines.splitlines():
        read_score(line), read_info(line), read_pv(line)
    last_score_lines(lines), score_line(lines)
    handshake = Handshake("usi" if data[:1] == b"u" else "uci")
    for exchange in (handshake, Ready(), Go(b"go\n")):
        exchange.take(lines)
    describe_unknown("Hash", handshake.options.values())
    for option in handshake.options.values():
        for value in (True, 1, 0.5, "x", option.default):
            try:
                option.render(value)
            except RingmasterError:
                continue
    requests = [b"a\n", b"b\n"]
    for stream in (
        score_streams.EvaluationStream(requests, 2, score_streams.FORMS[0].pattern),
        score_streams.AnswerStream(requests, 2, searches=True, shorten=score_streams.exact_score),
        score_streams.AnswerStream(requests, 2, searches=True),
        score_streams.AnswerStream(requests, 2, searches=False),
    ):
        stream.more()
        try:
            stream.take(lines)
        except EngineProtocolError:
            continue
    score_streams.needs_search(lines)
    score_streams.recognise(lines)


def _gtp(data: bytes, folder: Path) -> None:
    from ringmaster.engines.gtp import Command

    lines = data.rstrip(b"\n") + b"\n"
    whole, by_line = Command("genmove", "b"), Command("genmove", "b")
    rest = whole.take(lines)
    fed = None
    for number, line in enumerate(parts := lines.split(b"\n")[:-1]):
        if by_line.feed(line):
            fed = b"".join(part + b"\n" for part in parts[number + 1 :])
            break
    assert (rest, whole.ok, whole.text) == (fed, by_line.ok, by_line.text)


_UCI_SEEDS = [
    b"id name Fish 1\noption name Hash type spin default 16 min 1 max 1024\n"
    b"option name Style type combo default Normal var Solid var Normal\nuciok\n",
    b"info depth 12 seldepth 20 multipv 1 score cp -31 nodes 1234 nps 99 pv e2e4 e7e5\n"
    b"info depth 13 score mate -3 upperbound time 4\nbestmove e2e4 ponder e7e5\n",
    b"info string hello\nreadyok\n",
    b"Final evaluation       -0.40 (white side)\nreadyok\neval = 42\n",
]
_GTP_SEEDS = [b"= D4\n\n", b"=1 name\nmore\n\n", b"? unknown command\n\n", b"\n\n= pass\n\n= \n\n"]


# control files and parameters


def _safe_mode(data: bytes, folder: Path) -> None:
    """Load a control file in safe mode, as one from a stranger."""
    from ringmaster.loaded_competition import LoadedCompetition

    path = folder / "fuzz.ctl"
    path.write_bytes(data)
    LoadedCompetition(path, safe=True)


def _safe_seeds() -> list[bytes]:
    """Return control files, and pieces of Python in a small one."""
    files = [path.read_bytes() for path in sorted(CONTROL_FILES.glob("*.ctl"))]
    head = b'competition_type = "playoff"\ngame = "chess"\n'
    end = (
        b'players = {"a": Player("e", nodes=n), "b": Player("e", nodes=2)}\n'
        b'matchups = [Matchup("a", "b")]\nnumber_of_games = 2\n'
    )
    return [*files, *(head + piece + b"\n" + end for piece in _PYTHON)]


_PYTHON = [
    b"n = sum(i * 2 for i in range(10) if i % 3)",
    b"def f(x, *rest, y=2, **named):\n    return x if x else f(y)\nn = f(0) + len('a' * 9)",
    b"n = (lambda a, b=1: a + b)(1)\nfor i in range(3):\n    n += i\nwhile n > 5:\n    n -= 1",
    b"n = [*map(int, '1 2'.split())][-1] ** 2\nn = int(f'{n:03d}')",
    b"import math\nn = round(math.sqrt(16)) or 1\nx, *y = {1: 2, **{3: 4}}.items()",
    b"n = ().__class__.__bases__[0].__subclasses__()",
    b"n = '{0.__class__}'.format(1)",
    b"n = 9 ** 9 ** 9\nz = [0] * 10 ** 10",
]


def _parameters(data: bytes, folder: Path) -> None:
    from ringmaster.parameter_files.formats import read_file
    from ringmaster.parameter_files.text import Text

    read_file(Text.decoded(data, "fuzz"), games=1000)


@cache
def _parameter_seeds() -> list[bytes]:
    return [
        b"Aggressiveness, int, 30, 0, 200, 10, 0.002\nWidth, float, 1.5, 0, 3, 0.1, 0.002\n",
        b"Aggressiveness,30,0,200,10,0.0020,0\n",
        b"TUNE_A,100,0,200,20,0.002\n",
        b"a,int,1,0,5,1,0.002,[[NOT USED]] // remark\n",
        b'{"Hash": "Integer(1, 5)", "Style": "Categorical([\\"a\\", \\"b\\"])"}',
        b'{"engines": [{"command": "a"}], "parameter_ranges": {"X": "Real(0.0, 2.0)"}}',
        b'{"X": {"value": 5, "min_value": 0, "max_value": 10, "step": 2}}',
        b"{X: {'value': 5, min_value: 0, max_value: 10, step: 2,},} // JSON5",
        b"a, int, 1, 0, 5, 0, 0.002 # Gr\xf6\xdfe\n",
    ]


def _import(data: bytes, folder: Path) -> None:
    """Import a command line, or a file of another tuner."""
    from ringmaster.scaffold.control_file import Places
    from ringmaster.scaffold.importers import import_material

    path = folder / "fuzz"
    path.write_bytes(data)
    words = [data.decode("utf-8", "surrogateescape")] if b"chess" in data else [str(path)]
    import_material(words, Places(folder, folder))


_IMPORT_SEEDS = [
    b"fastchess -engine cmd=stockfish name=a -engine cmd=b "
    b"-each tc=10+0.1 option.Hash=8 -rounds 100 -openings file=book.epd format=epd "
    b"order=random -concurrency 2 -sprt elo0=0 elo1=5 alpha=0.05 beta=0.05\n",
    b"cutechess-cli -engine cmd=a -engine cmd=./b -each proto=uci tc=40/60 -games 2 \\\n"
    b"  -repeat -pgnout x\n",
    b'[Engine]\nEngine = ./a\nBaseTime = 1000\n[Main]\nGamesAtOnce="2"\n',
]


def _time_control(data: bytes, folder: Path) -> None:
    from ringmaster.model.time_control import TimeControl

    control = TimeControl.parse(data.decode("utf-8", "replace"))
    assert TimeControl.parse(str(control)) == control


def _sfen(data: bytes, folder: Path) -> None:
    from ringmaster.games.sfen import normalise_sfen

    text = normalise_sfen(data.decode("utf-8", "replace"))
    assert normalise_sfen(text) == text


# the store and files beside it


def _status(data: bytes, folder: Path) -> None:
    """Read a status file, and open it to write."""
    from ringmaster.storage.store import Store

    path = folder / "fuzz.status"
    for companion in ("-wal", "-shm"):
        Path(f"{path}{companion}").unlink(missing_ok=True)
    path.write_bytes(data)
    for open_store in (Store.open_readonly, Store.open):
        store = open_store(path)
        try:
            _read_all(store)
        finally:
            store.close()


def _read_all(store: Any) -> None:
    list(store.results()), list(store.games()), list(store.history())
    list(store.issues()), list(store.pending()), list(store.runs())
    store.snapshot(), store.counts(), store.last_run(), store.scores(0, 0)
    for key in ("history", "tree", "tests"):
        store.read_value(key)


@cache
def _status_seeds() -> list[bytes]:
    from tests import recorded

    with tempfile.TemporaryDirectory() as name:
        control = recorded.write(Path(name))
        games = [(recorded.ticket("0", i), recorded.won(f"0_{i}", i % 2)) for i in range(5)]
        recorded.recorded(control, games)
        return [control.with_suffix(".status").read_bytes()]


def _competition(data: bytes, folder: Path) -> None:
    """Show a competition with a damaged status file."""
    from ringmaster.loaded_competition import LoadedCompetition
    from ringmaster.storage.store import Store
    from tests import recorded

    control = recorded.write(folder)
    control.with_suffix(".status").write_bytes(data)
    loaded = LoadedCompetition(control)
    store = Store.open_readonly(loaded.paths.status)
    try:
        loaded.restore(store, loaded.compare(store))
        loaded.report_text()
        loaded.data(store, 0, loaded.competition.summary())
    finally:
        store.close()


def _journal(data: bytes, folder: Path) -> None:
    """Complete a log and a history whose ends are unknown."""
    from ringmaster.storage.journal import Journal
    from ringmaster.storage.paths import OutputPaths

    paths = OutputPaths(folder / "fuzz.ctl")
    for path in (paths.log, paths.hist, paths.tree_log):
        path.write_bytes(data)
    journal = Journal(paths)
    try:
        journal.complete_history(["game 0_1: a beat b", "two"])
        journal.snapshot('{"games": 20}')
    finally:
        journal.close()
    text = paths.hist.read_bytes()
    assert text.startswith(data)
    journal = Journal(paths)
    try:
        journal.complete_history(["game 0_1: a beat b", "two"])
    finally:
        journal.close()
    assert paths.hist.read_bytes() == text


TARGETS: dict[str, Target] = {
    "openings-epd": Target(_openings("chess", "book.epd"), (DataFileError,), _epd_seeds),
    "openings-pgn": Target(_openings("chess", "book.pgn"), (DataFileError,), lambda: [_PGN]),
    "openings-sfen": Target(_openings("shogi", "book.sfen"), (DataFileError,), _sfen_seeds),
    "openings-csa": Target(_openings("shogi", "book.csa"), (DataFileError,), lambda: _shogi("csa")),
    "openings-kif": Target(_openings("shogi", "book.kif"), (DataFileError,), lambda: _shogi("kif")),
    "openings-sgf": Target(_openings("go", "book.sgf"), (DataFileError,), lambda: [_SGF]),
    "polyglot": Target(_openings("chess", "book.bin"), (DataFileError,), _polyglot_seeds),
    "yaneuraou": Target(_openings("shogi", "book.db"), (DataFileError,), lambda: [_BOOK_DB]),
    **{
        f"positions-{format}": Target(
            _positions("chess", "set.txt", None), (DataFileError,), lambda f=format: _labelled(f)
        )
        for format in ("epd", "fen", "bar", "comma", "plain")
    },
    "positions-pgn": Target(_positions("chess", "set.pgn", None), (DataFileError,), lambda: [_PGN]),
    **{
        f"positions-{format}": Target(
            _positions("shogi", f"set.{format}", format),
            (DataFileError,),
            lambda f=format: _shogi(f),
        )
        for format in ("psv", "hcpe", "sfen", "csa", "kif")
    },
    "features-csv": Target(
        _features(".csv"),
        (DataFileError,),
        lambda: [b"fen,pawn,rook,phase\n8/8/8/8/8/8/8/K1k5 w - - 0 1,1,-2,0.5\n"],
    ),
    "features-npz": Target(_features(".npz"), (DataFileError,), _npz_seeds),
    "position-file": Target(_own_file("positions"), (StoreError,), lambda: _own_seeds("positions")),
    "feature-file": Target(_own_file("features"), (StoreError,), lambda: _own_seeds("features")),
    "uci": Target(_uci, (EngineProtocolError,), lambda: _UCI_SEEDS),
    "gtp": Target(_gtp, (EngineProtocolError,), lambda: _GTP_SEEDS),
    "safe-mode": Target(_safe_mode, (ControlFileError,), _safe_seeds),
    "parameters": Target(_parameters, (ParameterFileError,), _parameter_seeds),
    "import": Target(_import, (UsageError, ParameterFileError), lambda: _IMPORT_SEEDS),
    "time-control": Target(
        _time_control, (ValueError,), lambda: [b"10+0.1", b"40/1:00+0.6", b"600+5x30", b"1+1+5byo"]
    ),
    "sfen": Target(
        _sfen,
        (ValueError,),
        lambda: [b"lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1"],
    ),
    "status": Target(_status, (StoreError,), _status_seeds),
    "competition": Target(_competition, (RingmasterError,), _status_seeds),
    "journal": Target(_journal, (StoreError,), lambda: [b"game 0_1: a beat b\ntwo\n", b"tw"]),
}


def mutated(seeds: Sequence[bytes], rng: random.Random) -> bytes:
    """Return a seed with a few random changes."""
    data = bytearray(rng.choice(seeds))
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        at = rng.randrange(len(data) + 1)
        other = rng.choice(seeds)
        start = rng.randrange(len(other) + 1)
        length = rng.randrange(1, 30)
        inserted = (
            rng.randbytes(rng.randrange(1, 5)),
            rng.choice((b"\0", b"\t", b"\n", b'"', b"-", b"\x7f", b"\x80", b"\xc3", b"\xff")),
            rng.choice(b"0 -1 99999999999999999999 1e999 nan 18446744073709551616".split()),
            other[start : start + length],
            bytes(data[at : at + length]) * rng.choice((1, 2, 50)),
            b"",
        )
        removed = rng.choice((0, 0, 1, length, len(data)))
        data[at : at + removed] = rng.choice(inserted)
    return bytes(data)

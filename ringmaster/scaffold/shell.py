"""Find the command line of a match in shell text: a script, or one quoted command.

Nothing is run.  Comments, quotes, continued lines, variables, arrays, `cd` and `export` are
followed as a shell does.  Control structures and command substitutions are not: a match that
depends on one is refused, with its line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ringmaster.errors import UsageError
from ringmaster.model.wording import shown

#: Programs that start another one: their options that take a value, and how many words of
#: their own come before the program.
_PREFIXES: dict[str, tuple[frozenset[str], int]] = {
    "caffeinate": (frozenset({"-t", "-w"}), 0),
    "chrt": (frozenset({"-T", "-P", "-D"}), 1),
    "command": (frozenset(), 0),
    "exec": (frozenset({"-a"}), 0),
    "ionice": (frozenset({"-c", "-n", "--class", "--classdata"}), 0),
    "nice": (frozenset({"-n", "--adjustment"}), 0),
    "nohup": (frozenset(), 0),
    "numactl": (
        frozenset({"-C", "-N", "-m", "-i", "-p", "--physcpubind", "--cpunodebind", "--membind"}),
        0,
    ),
    "setsid": (frozenset(), 0),
    "stdbuf": (frozenset({"-i", "-o", "-e"}), 0),
    "sudo": (frozenset({"-u", "-g"}), 0),
    "taskset": (frozenset(), 1),
    "time": (frozenset({"-o", "-f", "--output", "--format"}), 0),
    "timeout": (frozenset({"-s", "-k", "--signal", "--kill-after"}), 1),
    "unbuffer": (frozenset(), 0),
}
#: Prefixes that change nothing of a run.
_PLAIN = ("command", "exec", "stdbuf", "unbuffer")
_BLOCKS = {
    "if": "fi",
    "for": "done",
    "while": "done",
    "until": "done",
    "select": "done",
    "case": "esac",
    "{": "}",
}
_INNER = ("then", "do", "else", "elif", "!", "function")
_DECLARING = ("export", "readonly", "declare", "typeset", "local")
#: Commands that have no effect on a match.
_IDLE = (":", "[", "[[", "]]", "echo", "exit", "printf", "set", "shopt", "sleep", "true", "wait")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z_0-9]*)(\+?)=")
_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*|[0-9@*#?$!-]")
_BRACED = re.compile(r"([A-Za-z_][A-Za-z_0-9]*|[0-9@*])(\[[@*]\])?(?::?-([^${}`]*))?")
_REDIRECTION = re.compile(r"[0-9]*(?:&>>?|[<>]{1,2}&?|>\|)(?:[0-9]+|-)?")
#: How a script names its own folder, without quotes and blanks.
_OF_SCRIPT = re.compile(
    r"(?:cd\$\()?dirname(?:--)?\$(?:0|\{0\}|BASH_SOURCE|\{BASH_SOURCE(?:\[0\])?\})(?:\)&&pwd)?"
)
#: Options without which there is no match.
_ENGINES = frozenset({"-engine", "--engine", "-quick", "--quick"})
_REFUSED = "which cannot be read; import one command line: ringmaster import 'fastchess …'"
_OPERATOR = re.compile(r"&&|\|\||;;|[;&|()\n]")


@dataclass(frozen=True)
class _Piece:
    """A part of a word.

    text    itself, or what the value of a variable is replaced by where it has none
    name    of a variable, "" for plain text
    quoted  whether blanks in it separate no words
    unread  what is not evaluated: a command substitution
    """

    text: str = ""
    name: str = ""
    quoted: bool = False
    unread: str = ""
    default: str | None = None


@dataclass
class _Word:
    line: int
    pieces: list[_Piece] = field(default_factory=list)
    array: list[_Word] | None = None

    @property
    def plain(self) -> str:
        """The word where nothing in it is quoted or replaced, else ""."""
        if any(p.quoted or p.name or p.unread for p in self.pieces):
            return ""
        return "".join(p.text for p in self.pieces)


@dataclass(frozen=True)
class _Operator:
    line: int
    text: str


@dataclass(frozen=True)
class _Unread:
    """The value of a variable that is not known, and why."""

    why: str


_Value = list[str] | _Unread


@dataclass(frozen=True)
class MatchCommand:
    """The command of a match, without what stands before it.

    environ  variables that the engines inherit
    folder   where relative file names start
    notes    what the match does not depend on
    """

    words: tuple[str, ...]
    line: int = 1
    environ: Mapping[str, str] = field(default_factory=dict)
    folder: Path = Path()
    notes: tuple[str, ...] = ()


def without_prefixes(words: Sequence[str]) -> tuple[list[str], dict[str, str], list[str]]:
    """Return the words from the program on that is started in the end, the variables that
    are set for it, and a note on each prefix (`nice -n 10`)."""
    rest, environ, notes = list(words), {}, []
    while rest:
        assigned = _ASSIGNMENT.match(rest[0])
        if assigned is not None and not assigned[2]:
            environ[assigned[1]] = rest.pop(0)[assigned.end() :]
            continue
        name = os.path.basename(rest[0])
        if name == "env" and len(rest) > 1 and not rest[1].startswith("-"):
            del rest[0]
            continue
        if name not in _PREFIXES:
            break
        valued, own = _PREFIXES[name]
        end = 1
        while end < len(rest) and rest[end].startswith("-"):
            end += 2 if rest[end] in valued else 1
        end += own
        prefix = " ".join(rest[:end])
        if name not in _PLAIN:
            notes.append(f"{prefix} (start ringmaster so: {prefix} ringmaster …)")
        del rest[:end]
    return rest, environ, notes


def match_command(
    text: str,
    name: str,
    folder: Path,
    recognises: Callable[[Sequence[str]], bool],
    environ: Mapping[str, str],
    script: Path | None = None,
) -> MatchCommand:
    """Return the only command that is recognised.

    name     what messages call the text
    folder   where it is run
    environ  variables that are set before
    script   the folder of the file, None for text of a command line

    Raises UsageError.
    """
    return _Reader(text, name, folder, recognises, environ, script).read()


class _Reader:
    """One text, read once from the beginning."""

    def __init__(
        self,
        text: str,
        name: str,
        folder: Path,
        recognises: Callable[[Sequence[str]], bool],
        environ: Mapping[str, str],
        script: Path | None,
    ) -> None:
        self._text = text.replace("\r\n", "\n")
        self._at, self._line = 0, 1
        self._name = name
        self._recognises = recognises
        self._script = script
        self._values: dict[str, _Value] = {key: [value] for key, value in environ.items()}
        self._exported: set[str] = set()
        self._folder: Path | _Unread = folder
        self._notes: list[str] = []
        self._found: list[MatchCommand] = []

    def _error(self, line: int, message: str) -> UsageError:
        place = "import" if self._script is None else f"{self._name}:{line}"
        return UsageError(f"{place}: {message}")

    def read(self) -> MatchCommand:
        """Return the command of the match.  Raises UsageError."""
        words: list[_Word] = []
        blocks: list[tuple[str, str]] = []
        for token in (*self._tokens(), _Operator(self._line, "\n")):
            if isinstance(token, _Word):
                if not words and self._keyword(token, blocks):
                    continue
                words.append(token)
                continue
            if token.text == "(":
                blocks.append((")", "parentheses"))
                words = []
                continue
            if words:
                self._command(words, blocks)
                words = []
            if token.text == ")" and blocks and blocks[-1][0] == ")":
                blocks.pop()
        if not self._found:
            raise self._error(
                1,
                "no command line of fastchess or cutechess-cli is in it",
            )
        if len(self._found) > 1:
            lines = ", ".join(str(found.line) for found in self._found)
            raise self._error(
                self._found[1].line,
                f"there is more than one match (lines {lines}); import one command line: "
                "ringmaster import 'fastchess …'",
            )
        found = self._found[0]
        return MatchCommand(
            found.words, found.line, found.environ, found.folder, (*found.notes, *self._notes)
        )

    def _keyword(self, word: _Word, blocks: list[tuple[str, str]]) -> bool:
        """Enter or leave a control structure; returns whether the word does."""
        plain = word.plain
        if plain in _BLOCKS:
            name = "a function or braces" if plain == "{" else f"`{plain}`"
            blocks.append((_BLOCKS[plain], name))
        elif blocks and plain == blocks[-1][0]:
            blocks.pop()
        elif plain not in _INNER:
            return False
        return True

    # commands

    def _command(self, words: list[_Word], blocks: list[tuple[str, str]]) -> None:
        line = words[0].line
        for_this: set[str] = set()
        while words and self._assign(words[0], blocks):
            for_this.add(_assigned(words.pop(0)))
        first = words[0].plain if words else ""
        if not words or first in _IDLE:
            return
        if first in _DECLARING:
            for word in words[1:]:
                self._assign(word, blocks)
                if first == "export":
                    self._exported.add(_assigned(word) or word.plain)
        elif first in ("cd", "pushd"):
            self._change_folder(words, blocks)
        elif first in ("source", "."):
            raise self._error(line, f"`{first}` cannot be read; put the other file's lines here")
        elif not self._match(words, blocks, for_this) and not blocks:
            text = " ".join(word.plain or "…" for word in words)
            self._notes.append(f"line {line} of {self._name}: {shown(text)}")

    def _match(self, words: list[_Word], blocks: list[tuple[str, str]], for_this: set[str]) -> bool:
        """Note a command if it is the match; returns whether it is."""
        if not any(map(self._is_match, words)):
            return False
        line = words[0].line
        begins = self._is_match(words[0]) or words[0].plain in _PREFIXES
        if blocks:
            if begins or any(word.plain in _ENGINES for word in words):
                raise self._error(line, f"the match is inside {blocks[-1][1]}, {_REFUSED}")
            return False
        try:
            expanded = [text for word in words for text in self._expand(word)]
        except UsageError:
            if begins:
                raise
            return False
        if not _ENGINES & set(expanded):
            return False
        command, environ, notes = without_prefixes(expanded)
        if not self._recognises(command):
            raise self._error(
                line, f"{shown(command[0])} before the match is not understood; leave it out"
            )
        if isinstance(self._folder, _Unread):
            raise self._error(line, f"the folder is not known: {self._folder.why}")
        # the engines inherit them
        inherited = {}
        for name in sorted(self._exported | for_this):
            value = self._values.get(name)
            if isinstance(value, _Unread):
                raise self._error(line, f"${name} is not known: {value.why}")
            if value is not None:
                inherited[name] = " ".join(value)
        self._found.append(
            MatchCommand(tuple(command), line, {**inherited, **environ}, self._folder, tuple(notes))
        )
        return True

    def _is_match(self, word: _Word) -> bool:
        """Return whether a word, as far as it is known, names one of the programs."""
        try:
            return any(self._recognises([text]) for text in self._expand(word))
        except UsageError:
            return False

    def _assign(self, word: _Word, blocks: list[tuple[str, str]]) -> bool:
        """Set a variable; returns whether the word does so."""
        name = _assigned(word)
        if not name:
            return False
        head = word.pieces[0].text.partition("=")
        value: _Value
        try:
            if blocks:
                raise self._error(word.line, f"it is set inside {blocks[-1][1]}")
            if word.array is not None:
                value = [text for item in word.array for text in self._expand(item)]
            else:
                rest = _Piece(head[2])
                value = [self._joined(_Word(word.line, [rest, *word.pieces[1:]]))]
            before = self._values.get(name, [])
            if head[0].endswith("+"):
                if isinstance(before, _Unread):
                    value = before
                elif word.array is not None:
                    value = [*before, *value]
                else:
                    value = ["".join([*before[:1], *value])]
        except UsageError as error:
            value = _Unread(str(error))
        self._values[name] = value
        return True

    def _change_folder(self, words: list[_Word], blocks: list[tuple[str, str]]) -> None:
        try:
            if blocks:
                raise self._error(words[0].line, f"`cd` is inside {blocks[-1][1]}")
            target = [text for word in words[1:] for text in self._expand(word)]
            target = [text for text in target if text != "--"]
            if len(target) == 1 and not isinstance(self._folder, _Unread):
                self._folder /= os.path.expanduser(target[0])
        except UsageError as error:
            self._folder = _Unread(str(error))

    # words

    def _joined(self, word: _Word) -> str:
        """Return a word as an assignment takes it: blanks do not separate."""
        quoted = [
            _Piece(p.text, p.name, True, p.unread, p.default) if p.name or p.unread else p
            for p in word.pieces
        ]
        return " ".join(self._expand(_Word(word.line, quoted)))

    def _expand(self, word: _Word) -> list[str]:
        """Return the words that a word stands for.  Raises UsageError."""
        found: list[str] = []
        current: str | None = None
        for index, piece in enumerate(word.pieces):
            values = [piece.text]
            if piece.unread:
                values = [self._substituted(piece.unread, word.line)]
            elif piece.name:
                values = self._value(piece, word.line)
            elif index == 0 and not piece.quoted and piece.text[:2] in ("~", "~/"):
                values = [os.path.expanduser(piece.text)]
            if not piece.quoted and (piece.name or piece.unread):
                values = [part for value in values for part in value.split()]
            for number, value in enumerate(values):
                if number and current is not None:
                    found.append(current)
                    current = None
                current = (current or "") + value
        return found if current is None else [*found, current]

    def _value(self, piece: _Piece, line: int) -> list[str]:
        name, _, every = piece.name.partition("[")
        if name == "PWD" and not isinstance(self._folder, _Unread):
            return [str(self._folder)]
        value = self._values.get(name)
        if isinstance(value, _Unread):
            raise self._error(line, f"${name} is not known: {value.why}")
        if value is None or (piece.default and value == [""]):
            if piece.default is None:
                what = "an argument of the script" if name.isdigit() or name in "@*" else "not set"
                raise self._error(line, f"${name} is {what}; write its value there")
            return [piece.default]
        return value if every else value[:1]

    def _substituted(self, source: str, line: int) -> str:
        """Return the output of the few commands that say where something is."""
        plain = re.sub(r"[\"'\s]+", "", source)
        if plain == "pwd" and not isinstance(self._folder, _Unread):
            return str(self._folder)
        if plain == "nproc":
            return str(os.cpu_count() or 1)
        if self._script is not None and _OF_SCRIPT.fullmatch(plain):
            return str(self._script)
        raise self._error(
            line, f"the output of {shown(source)} is not known; write it in its place"
        )

    # tokens

    def _tokens(self) -> Iterator[_Word | _Operator]:
        text = self._text
        while self._at < len(text):
            char = text[self._at]
            if text.startswith("\\\n", self._at):
                self._skip(2)
            elif char in " \t":
                self._skip(1)
            elif char == "#":
                end = text.find("\n", self._at)
                self._skip((len(text) if end < 0 else end) - self._at)
            elif (match := _REDIRECTION.match(text, self._at)) is not None:
                self._redirection(match[0])
            elif (match := _OPERATOR.match(text, self._at)) is not None:
                operator = _Operator(self._line, match[0])
                self._skip(len(match[0]))
                yield operator
            else:
                yield self._word()

    def _skip(self, count: int) -> str:
        """Return the next characters, and pass them."""
        passed = self._text[self._at : self._at + count]
        self._line += passed.count("\n")
        self._at += count
        return passed

    def _redirection(self, operator: str) -> None:
        line = self._line
        if "<<" in operator:
            raise self._error(line, "a here-document cannot be read; leave it out")
        self._skip(len(operator))
        if not operator[-1].isdigit() and operator[-1] != "-":
            self._skip(len(re.match(r"[ \t]*", self._text[self._at :])[0]))  # type: ignore[index]
            if self._at < len(self._text) and self._text[self._at] not in "\n;&|()":
                self._word()

    def _word(self) -> _Word:
        word = _Word(self._line)
        text = self._text
        plain = ""
        while self._at < len(text):
            char = text[self._at]
            if char in " \t\n;&|<>)":
                break
            if char == "(":
                if not (word.pieces == [] and _ASSIGNMENT.fullmatch(plain)):
                    break
                self._skip(1)
                word.array = self._array()
                break
            if char == "\\":
                escaped = self._skip(2)[1:]
                if escaped != "\n":
                    word.pieces += [_Piece(plain), _Piece(escaped, quoted=True)]
                    plain = ""
            elif char in "\"'$`":
                # an assignment is known by the first piece
                word.pieces += [_Piece(plain)] if plain else []
                plain = ""
                word.pieces += {'"': self._double, "'": self._single}.get(char, self._dollar)()
            else:
                plain += self._skip(1)
        if plain:
            word.pieces.append(_Piece(plain))
        return word

    def _array(self) -> list[_Word]:
        items: list[_Word] = []
        for token in self._tokens():
            if isinstance(token, _Word):
                items.append(token)
            elif token.text == ")":
                return items
        raise self._error(self._line, "a ( is not closed")

    def _single(self) -> list[_Piece]:
        end = self._text.find("'", self._at + 1)
        if end < 0:
            raise self._error(self._line, "a ' is not closed")
        return [_Piece(self._skip(end + 1 - self._at)[1:-1], quoted=True)]

    def _double(self) -> list[_Piece]:
        line = self._line
        self._skip(1)
        pieces = [_Piece("", quoted=True)]
        plain = ""
        while self._at < len(self._text):
            char = self._text[self._at]
            if char == '"':
                self._skip(1)
                return [*pieces, _Piece(plain, quoted=True)]
            if char == "\\":
                escaped = self._skip(2)[1:]
                plain += (
                    "" if escaped == "\n" else escaped if escaped in '"\\$`' else f"\\{escaped}"
                )
            elif char in "$`":
                pieces.append(_Piece(plain, quoted=True))
                plain = ""
                pieces += self._dollar(quoted=True)
            else:
                plain += self._skip(1)
        raise self._error(line, 'a " is not closed')

    def _dollar(self, quoted: bool = False) -> list[_Piece]:
        """Read a variable or a command substitution."""
        text, line = self._text, self._line
        if text[self._at] == "`" or text.startswith("$(", self._at):
            return [_Piece(unread=self._substitution(line), quoted=quoted)]
        self._skip(1)
        if text.startswith("{", self._at):
            end = text.find("}", self._at)
            if end < 0:
                raise self._error(line, "a ${ is not closed")
            inner = self._skip(end + 1 - self._at)[1:-1]
            match = _BRACED.fullmatch(inner)
            if match is None:
                return [_Piece(unread=f"${{{inner}}}", quoted=quoted)]
            return [_Piece("", match[1] + (match[2] or ""), quoted, default=match[3])]
        name = _NAME.match(text, self._at)
        if name is None:
            return [_Piece("$", quoted=True)]
        self._skip(len(name[0]))
        return [_Piece("", name[0], quoted)]

    def _substitution(self, line: int) -> str:
        """Return the text of a command substitution."""
        if self._text[self._at] == "`":
            end = self._text.find("`", self._at + 1)
            if end < 0:
                raise self._error(line, "a ` is not closed")
            return self._skip(end + 1 - self._at)[1:-1]
        begin = self._at
        depth = 0
        while self._at < len(self._text):
            char = self._skip(1)
            depth += (char == "(") - (char == ")")
            if char == ")" and not depth:
                return self._text[begin + 2 : self._at - 1]
        raise self._error(line, "a $( is not closed")


def _assigned(word: _Word) -> str:
    """Return the name of the variable that a word sets, "" if it sets none."""
    first = word.pieces[0] if word.pieces else _Piece(quoted=True)
    match = None if first.quoted else _ASSIGNMENT.match(first.text)
    return "" if match is None else match[1]

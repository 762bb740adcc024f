"""Find the command line of a match in a shell script or in one quoted command.

Nothing is run.  The reader follows comments, quotes, continued lines, variables, arrays, `cd` and
`export`.  It refuses a match that depends on a control structure or a command substitution.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from ringmaster.errors import UsageError, shown

#: Programs that start another program: their options with a value, and the number of words
#: before that program.
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
#: Prefixes without an effect on a run.
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
#: Commands without an effect on a match.
_IDLE = (":", "[", "[[", "]]", "echo", "exit", "printf", "set", "shopt", "sleep", "true", "wait")
#: Options without which there is no match.
_ENGINES = frozenset({"-engine", "--engine", "-quick", "--quick"})
_REFUSED = "which cannot be read; import one command line: ringmaster import 'fastchess …'"

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z_0-9]*)(\+?)=")
_BRACED = re.compile(r"([A-Za-z_][A-Za-z_0-9]*|[0-9@*])(\[[@*]\])?(?::?-([^${}`]*))?")
#: Commands that print the script's own folder, without quotes and blanks.
_SCRIPT_FOLDER = re.compile(
    r"(?:cd\$\()?dirname(?:--)?\$(?:0|\{0\}|BASH_SOURCE|\{BASH_SOURCE(?:\[0\])?\})(?:\)&&pwd)?"
)
# no quantifier gives back what it has matched: an unclosed quote would take years
_PARENTHESES = r"\((?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*+\))*+\))*+\))*+\)"
_DOLLAR = (
    rf"\${_PARENTHESES}|`[^`]*`|\$\{{[^}}]*\}}"
    r"|\$(?![({])(?:[A-Za-z_][A-Za-z_0-9]*|[0-9@*#?$!-])?"
)
_TOKEN = re.compile(
    rf"""(?P<skipped>\\\n | [ \t]+ | (?<![^\s;&|()])\#[^\n]*)
    | (?P<redirection>(?:(?<![^\s;&|()])[0-9]+)?(?:&>>?|>\||[<>]{{1,2}}&?)(?:[0-9]+|-)?)
    | (?P<operator>&&|\|\||;;|[;&|()\n])
    | (?P<double>"(?>[^"\\$`]|\\[\s\S]|{_DOLLAR})*+")
    | (?P<single>'[^']*')
    | (?P<dollar>{_DOLLAR})
    | (?P<unclosed>["'`]|\$[({{])
    | \\(?P<escaped>[\s\S]?)
    | (?P<plain>[^\s;&|()<>"'`$\\]+ | [\s\S])""",
    re.VERBOSE,
)
_IN_QUOTES = re.compile(rf"(?P<dollar>{_DOLLAR})|\\(?P<escaped>[\"\\$`\n])|[^$`\\]+|\\")


@dataclass(frozen=True)
class _Piece:
    """A part of a word: text, the name of a variable, or the source of a command substitution.

    quoted   whether blanks in it separate no words
    default  the value of an unset variable
    """

    text: str
    kind: Literal["text", "variable", "command"] = "text"
    quoted: bool = False
    default: str | None = None


@dataclass
class _Word:
    line: int
    pieces: list[_Piece] = field(default_factory=list)
    array: list[_Word] | None = None

    @property
    def plain(self) -> str:
        """The word if nothing in it is quoted or replaced, else ""."""
        if any(piece.quoted or piece.kind != "text" for piece in self.pieces):
            return ""
        return "".join(piece.text for piece in self.pieces)

    def assignment(self) -> re.Match[str] | None:
        """Return the match of ``NAME=`` if the word sets a variable."""
        first = self.pieces[0] if self.pieces else None
        if first is None or first.quoted or first.kind != "text":
            return None
        return _ASSIGNMENT.match(first.text)


@dataclass(frozen=True)
class _Operator:
    text: str


@dataclass(frozen=True)
class _Unknown:
    """The reason why a value is unknown."""

    why: str


@dataclass(frozen=True)
class MatchCommand:
    """The command of a match, without prefixes such as `nice`.

    environ  variables that the engines inherit
    folder   where relative file names start
    notes    ignored parts of the script
    """

    words: tuple[str, ...]
    line: int = 1
    environ: Mapping[str, str] = field(default_factory=dict)
    folder: Path = Path()
    notes: tuple[str, ...] = ()


def without_prefixes(words: Sequence[str]) -> tuple[list[str], dict[str, str], list[str]]:
    """Return the words without prefixes, the variables set for the program, and a note for each
    prefix (`nice -n 10`)."""
    rest, environ, notes = list(words), {}, []
    while rest:
        assignment = _ASSIGNMENT.match(rest[0])
        if assignment is not None and not assignment[2]:
            environ[assignment[1]] = rest.pop(0)[assignment.end() :]
            continue
        name = os.path.basename(rest[0])
        if name == "env" and len(rest) > 1 and not rest[1].startswith("-"):
            del rest[0]
            continue
        if name not in _PREFIXES:
            break
        with_value, own_words = _PREFIXES[name]
        end = 1
        while end < len(rest) and rest[end].startswith("-"):
            end += 2 if rest[end] in with_value else 1
        end += own_words
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
    """Return the only recognised command.

    name     of the text in messages
    folder   the working directory
    environ  variables set before the script starts
    script   the folder of the script's file, None for text of a command line

    Raises UsageError.
    """
    reader = _Reader(name, folder, recognises, environ, script)
    return reader.read(text.replace("\r\n", "\n"))


class _Reader:
    """Read one script from its beginning to its end."""

    def __init__(
        self,
        name: str,
        folder: Path,
        recognises: Callable[[Sequence[str]], bool],
        environ: Mapping[str, str],
        script: Path | None,
    ) -> None:
        self._name = name
        self._recognises = recognises
        self._script = script
        self._values: dict[str, list[str] | _Unknown] = {k: [v] for k, v in environ.items()}
        self._exported: set[str] = set()
        self._folder: Path | _Unknown = folder
        self._notes: list[str] = []
        self._commands: list[MatchCommand] = []
        #: Closing word and description of the control structures around the current command.
        self._blocks: list[tuple[str, str]] = []

    def _error(self, line: int, message: str) -> UsageError:
        place = "import" if self._script is None else f"{self._name}:{line}"
        return UsageError(f"{place}: {message}")

    def read(self, text: str) -> MatchCommand:
        """Return the command of the match.  Raises UsageError."""
        words: list[_Word] = []
        for token in (*self._tokens(text), _Operator("\n")):
            if isinstance(token, _Word):
                if words or not self._keyword(token.plain):
                    words.append(token)
                continue
            if token.text == "(":
                # the word before it is the name of a function
                self._blocks.append((")", "parentheses"))
            elif words:
                self._command(words)
            words = []
            if token.text == ")" and self._blocks and self._blocks[-1][0] == ")":
                self._blocks.pop()
        if not self._commands:
            raise self._error(1, "no command line of fastchess or cutechess-cli is in it")
        command, *others = self._commands
        if others:
            lines = ", ".join(str(one.line) for one in self._commands)
            raise self._error(
                others[0].line,
                f"there is more than one match (lines {lines}); import one command line: "
                "ringmaster import 'fastchess …'",
            )
        return replace(command, notes=(*command.notes, *self._notes))

    def _keyword(self, word: str) -> bool:
        """Enter or leave a control structure; return whether the word does so."""
        if word in _BLOCKS:
            description = "a function or braces" if word == "{" else f"`{word}`"
            self._blocks.append((_BLOCKS[word], description))
        elif self._blocks and word == self._blocks[-1][0]:
            self._blocks.pop()
        elif word not in _INNER:
            return False
        return True

    # commands

    def _command(self, words: list[_Word]) -> None:
        line = words[0].line
        own_variables: set[str] = set()
        while words and (assignment := words[0].assignment()):
            self._assign(words.pop(0), assignment)
            own_variables.add(assignment[1])
        first = words[0].plain if words else ""
        if not words or first in _IDLE:
            return
        if first in _DECLARING:
            for word in words[1:]:
                assignment = word.assignment()
                if assignment:
                    self._assign(word, assignment)
                if first == "export":
                    self._exported.add(assignment[1] if assignment else word.plain)
        elif first in ("cd", "pushd"):
            self._change_folder(words)
        elif first in ("source", "."):
            raise self._error(line, f"`{first}` cannot be read; put the other file's lines here")
        elif not self._add_match(words, own_variables) and not self._blocks:
            text = " ".join(word.plain or "…" for word in words)
            self._notes.append(f"line {line} of {self._name}: {shown(text)}")

    def _add_match(self, words: list[_Word], own_variables: set[str]) -> bool:
        """Add a command if it is a match; return whether it is."""
        if not any(map(self._is_runner, words)):
            return False
        line = words[0].line
        begins = self._is_runner(words[0]) or words[0].plain in _PREFIXES
        if self._blocks:
            if begins or any(word.plain in _ENGINES for word in words):
                raise self._error(line, f"the match is inside {self._blocks[-1][1]}, {_REFUSED}")
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
        if isinstance(self._folder, _Unknown):
            raise self._error(line, f"the folder is not known: {self._folder.why}")
        inherited = {}
        for name in sorted(self._exported | own_variables):
            value = self._values.get(name)
            if isinstance(value, _Unknown):
                raise self._error(line, f"${name} is not known: {value.why}")
            if value is not None:
                inherited[name] = " ".join(value)
        self._commands.append(
            MatchCommand(tuple(command), line, {**inherited, **environ}, self._folder, tuple(notes))
        )
        return True

    def _is_runner(self, word: _Word) -> bool:
        """Return whether a word names one of the programs."""
        try:
            return any(self._recognises([text]) for text in self._expand(word))
        except UsageError:
            return False

    def _assign(self, word: _Word, assignment: re.Match[str]) -> None:
        """Set a variable, to `_Unknown` if the value cannot be computed."""
        name, appends = assignment[1], assignment[2]
        value: list[str] | _Unknown
        try:
            if self._blocks:
                raise self._error(word.line, f"it is set inside {self._blocks[-1][1]}")
            if word.array is not None:
                value = [text for item in word.array for text in self._expand(item)]
            else:
                # blanks do not separate words in an assignment
                first = _Piece(word.pieces[0].text[assignment.end() :])
                rest = [p if p.kind == "text" else replace(p, quoted=True) for p in word.pieces[1:]]
                value = [" ".join(self._expand(_Word(word.line, [first, *rest])))]
            before = self._values.get(name, [])
            if appends and isinstance(before, _Unknown):
                value = before
            elif appends and isinstance(before, list):
                value = [*before, *value]
                value = value if word.array is not None else ["".join(value)]
        except UsageError as error:
            value = _Unknown(str(error))
        self._values[name] = value

    def _change_folder(self, words: list[_Word]) -> None:
        try:
            if self._blocks:
                raise self._error(words[0].line, f"`cd` is inside {self._blocks[-1][1]}")
            target = [text for word in words[1:] for text in self._expand(word) if text != "--"]
            if len(target) == 1 and not isinstance(self._folder, _Unknown):
                self._folder /= os.path.expanduser(target[0])
        except UsageError as error:
            self._folder = _Unknown(str(error))

    # words

    def _expand(self, word: _Word) -> list[str]:
        """Return the words after expansion of variables.  Raises UsageError."""
        expanded: list[str] = []
        current: str | None = None
        for index, piece in enumerate(word.pieces):
            values = [piece.text]
            if piece.kind == "command":
                values = [self._output(piece.text, word.line)]
            elif piece.kind == "variable":
                values = self._value(piece, word.line)
            elif index == 0 and not piece.quoted and piece.text[:2] in ("~", "~/"):
                values = [os.path.expanduser(piece.text)]
            if not piece.quoted and piece.kind != "text":
                values = [part for value in values for part in value.split()]
            for number, value in enumerate(values):
                if number and current is not None:
                    expanded.append(current)
                    current = None
                current = (current or "") + value
        return expanded if current is None else [*expanded, current]

    def _value(self, piece: _Piece, line: int) -> list[str]:
        name, _, all_elements = piece.text.partition("[")
        if name == "PWD" and not isinstance(self._folder, _Unknown):
            return [str(self._folder)]
        value = self._values.get(name)
        if isinstance(value, _Unknown):
            raise self._error(line, f"${name} is not known: {value.why}")
        if value is None or (piece.default and value == [""]):
            if piece.default is None:
                what = "an argument of the script" if name.isdigit() or name in "@*" else "not set"
                raise self._error(line, f"${name} is {what}; write its value there")
            return [piece.default]
        return value if all_elements else value[:1]

    def _output(self, source: str, line: int) -> str:
        """Return the output of a known command: `pwd`, `nproc`, or the script's folder."""
        plain = re.sub(r"[\"'\s]+", "", source)
        if plain == "pwd" and not isinstance(self._folder, _Unknown):
            return str(self._folder)
        if plain == "nproc":
            return str(os.cpu_count() or 1)
        if self._script is not None and _SCRIPT_FOLDER.fullmatch(plain):
            return str(self._script)
        raise self._error(
            line, f"the output of {shown(source)} is not known; write it in its place"
        )

    # tokens

    def _tokens(self, text: str) -> Iterator[_Word | _Operator]:
        """Yield words and operators; an array is one word.  Raises UsageError."""
        word: _Word | None = None
        array: _Word | None = None
        is_target = False  # of a redirection
        line = 1
        for token in _TOKEN.finditer(text):
            kind, source = token.lastgroup, token[0]
            if kind == "unclosed":
                raise self._error(line, f"a {source} is not closed")
            if kind in ("skipped", "redirection", "operator"):
                opens_array = (
                    source == "("
                    and word is not None
                    and len(word.pieces) == 1
                    and _ASSIGNMENT.fullmatch(word.plain)
                )
                if opens_array and array is None:
                    array, word = word, None
                    assert array is not None
                    array.array = []
                elif word is not None and source != "\\\n":
                    if not is_target and array is None:
                        yield word
                    elif not is_target and array is not None and array.array is not None:
                        array.array.append(word)
                    word, is_target = None, False
                if kind == "redirection":
                    if "<<" in source:
                        raise self._error(line, "a here-document cannot be read; leave it out")
                    is_target = source[-1] not in "0123456789-"
                elif kind == "operator":
                    is_target = False
                    if array is None:
                        yield _Operator(source)
                    elif source == ")":
                        yield array
                        array = None
            else:
                word = word or _Word(line)
                word.pieces += _pieces(token)
            line += source.count("\n")
        if array is not None:
            raise self._error(line, "a ( is not closed")
        if word is not None and not is_target:
            yield word


def _pieces(token: re.Match[str]) -> list[_Piece]:
    source = token[0]
    match token.lastgroup:
        case "single":
            return [_Piece(source[1:-1], quoted=True)]
        case "double":
            pieces = [_Piece("", quoted=True)]
            for part in _IN_QUOTES.finditer(source[1:-1]):
                if part["dollar"]:
                    pieces.append(_substitution(part[0], quoted=True))
                else:
                    text = part[0] if part["escaped"] is None else part["escaped"]
                    pieces.append(_Piece("" if part[0] == "\\\n" else text, quoted=True))
            return pieces
        case "dollar":
            return [_substitution(source, quoted=False)]
        case "escaped":
            return [_Piece(token["escaped"], quoted=True)]
    return [_Piece(source)]


def _substitution(source: str, quoted: bool) -> _Piece:
    """Return a variable, a command substitution, or a lone "$"."""
    if source == "$":
        return _Piece(source, quoted=True)
    if source.startswith(("`", "$(")):
        return _Piece(source.strip("`") if source[0] == "`" else source[2:-1], "command", quoted)
    if not source.startswith("${"):
        return _Piece(source[1:], "variable", quoted)
    braced = _BRACED.fullmatch(source[2:-1])
    if braced is None:
        return _Piece(source, "command", quoted)
    return _Piece(braced[1] + (braced[2] or ""), "variable", quoted, braced[3])

// Positions of a recorded game of chess, shogi or Go after each move.
//
// `ringmasterRules.play(game)` takes a `BoardGame` (ringmaster/model/board.py) and needs no page:
// tests run it in node.  Moves were legal when they were played, so only their effect is computed;
// legality matters where notation leaves the moving piece open.
"use strict";
(() => {
  // ---- chess ----

  const START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
  // variants whose moves this file knows, with their start positions
  const CHESS = {
    standard: START,
    chess960: START,
    "3check": START,
    "three-check": START,
    "5check": START,
    kingofthehill: START,
    crazyhouse: START,
    antichess: START.replace("KQkq", "-"),
    giveaway: START.replace("KQkq", "-"),
    suicide: START.replace("KQkq", "-"),
    racingkings: "8/8/8/8/8/8/krbnNBRK/qrbnNBRQ w - - 0 1",
    horde: "rnbqkbnr/pppppppp/8/1PP2PP1/PPPPPPPP/PPPPPPPP/PPPPPPPP/PPPPPPPP w kq - 0 1",
  };
  const NAMES = { p: "pawn", n: "knight", b: "bishop", r: "rook", q: "queen", k: "king" };
  const FILES = "abcdefgh";
  const SIDES = { chess: ["White", "Black"], shogi: ["Black", "White"], go: ["Black", "White"] };

  // Squares are 0 (a1) to 63 (h8).
  const squareName = (square) => FILES[square & 7] + ((square >> 3) + 1);
  const squareOf = (name) => FILES.indexOf(name[0]) + 8 * (name.charCodeAt(1) - 49);
  const sideOf = (piece) => (piece === piece.toUpperCase() ? 0 : 1);

  function readFen(fen) {
    const [placement, turn = "w", castling = "-", passant = "-", ...rest] = fen.trim().split(/\s+/);
    const counters = rest.filter((field) => /^\d+$/.test(field)).map(Number);
    const [rows, pocket] = placement.replace("]", "").split("[");
    const board = Array(64).fill("");
    // squares of promoted pieces, which crazyhouse turns back into pawns
    const promoted = new Set();
    rows.split("/").slice(0, 8).forEach((row, number) => {
      let square = 8 * (7 - number);
      for (const letter of row) {
        if (letter === "~") promoted.add(square - 1);
        else if (/\d/.test(letter)) square += Number(letter);
        else board[square++] = letter;
      }
    });
    return {
      board,
      promoted,
      pockets: pocket === undefined ? null : [...pocket],
      turn: turn === "b" ? 1 : 0,
      rooks: castlingRooks(board, castling),
      passant: passant === "-" ? -1 : squareOf(passant),
      clock: counters[0] ?? 0,
      number: counters[1] ?? 1,
      taken: [[], []],
    };
  }

  // Return the squares of the rooks that may castle, from the rights in FEN, X-FEN or Shredder-FEN.
  function castlingRooks(board, rights) {
    const rooks = [];
    for (const letter of rights.replace("-", "")) {
      const white = letter === letter.toUpperCase();
      const first = white ? 0 : 56;
      const row = board.slice(first, first + 8);
      const king = row.indexOf(white ? "K" : "k");
      const rook = white ? "R" : "r";
      let file = FILES.indexOf(letter.toLowerCase());
      if (letter.toLowerCase() === "k") file = row.lastIndexOf(rook);
      else if (letter.toLowerCase() === "q") file = row.indexOf(rook);
      if (king >= 0 && row[file] === rook) rooks.push(first + file);
    }
    return rooks;
  }

  function castlingRights(state) {
    let text = "";
    for (const side of [0, 1]) {
      const first = 56 * side;
      const row = state.board.slice(first, first + 8);
      const rook = side ? "r" : "R";
      const king = row.indexOf(side ? "k" : "K");
      const own = state.rooks.filter((square) => square >> 3 === first >> 3).map((s) => s & 7);
      for (const file of own.sort((a, b) => b - a)) {
        // X-FEN: a file letter where another rook stands further out
        const short = file > king;
        const outer = short ? row.lastIndexOf(rook) : row.indexOf(rook);
        const letter = outer === file ? (short ? "k" : "q") : FILES[file];
        text += side ? letter : letter.toUpperCase();
      }
    }
    return text || "-";
  }

  function fenOf(state) {
    const rows = [];
    for (let rank = 7; rank >= 0; rank--) {
      let row = "";
      let empty = 0;
      for (let square = 8 * rank; square < 8 * rank + 8; square++) {
        const piece = state.board[square];
        if (!piece) empty++;
        else {
          row += (empty || "") + piece + (state.promoted.has(square) ? "~" : "");
          empty = 0;
        }
      }
      rows.push(row + (empty || ""));
    }
    const pocket = state.pockets ? `[${[...state.pockets].sort(byPocketOrder).join("")}]` : "";
    const passant = canTakePassant(state) ? squareName(state.passant) : "-";
    return (
      `${rows.join("/")}${pocket} ${"wb"[state.turn]} ${castlingRights(state)} ${passant} ` +
      `${state.clock} ${state.number}`
    );
  }

  const byPocketOrder = (a, b) => "QRBNPqrbnp".indexOf(a) - "QRBNPqrbnp".indexOf(b);

  // Return whether a pawn can legally capture en passant.
  function canTakePassant(state) {
    if (state.passant < 0) return false;
    const pawn = state.turn ? "p" : "P";
    return [-1, 1].some((step) => {
      const from = state.passant + (state.turn ? 8 : -8) + step;
      return (
        Math.abs((from & 7) - (state.passant & 7)) === 1 &&
        state.board[from] === pawn &&
        isSafe(state, { from, to: state.passant })
      );
    });
  }

  const isFree = (board, from, to, step) => {
    for (let square = from + step; square !== to; square += step) if (board[square]) return false;
    return true;
  };

  // Return whether a piece that is no pawn attacks a square.
  function reaches(board, from, to, kind) {
    if (from === to) return false;
    const across = (to & 7) - (from & 7);
    const up = (to >> 3) - (from >> 3);
    const [a, u] = [Math.abs(across), Math.abs(up)];
    if (kind === "n") return a * u === 2;
    if (kind === "k") return Math.max(a, u) === 1;
    const straight = !a || !u;
    if (straight ? kind === "b" : a !== u || kind === "r") return false;
    return isFree(board, from, to, Math.sign(across) + 8 * Math.sign(up));
  }

  function isAttacked(board, square, by) {
    return board.some((piece, from) => {
      if (!piece || sideOf(piece) !== by) return false;
      if (piece.toLowerCase() !== "p") return reaches(board, from, square, piece.toLowerCase());
      return square - from - (by ? -8 : 8) === (square & 7) - (from & 7) && isBeside(square, from);
    });
  }

  const isBeside = (one, other) => Math.abs((one & 7) - (other & 7)) === 1;

  // Return whether a move leaves its side's king safe; a side without a king always is.
  function isSafe(state, move) {
    const after = afterChess(state, move);
    return !inCheck(after.board, state.turn);
  }

  function inCheck(board, side) {
    const king = board.indexOf(side ? "k" : "K");
    return king >= 0 && isAttacked(board, king, 1 - side);
  }

  function pawnReaches(state, from, to) {
    const step = state.turn ? -8 : 8;
    const { board } = state;
    if (board[to] || to === state.passant) {
      if (to - from === step + 1 || to - from === step - 1) return isBeside(from, to);
    }
    if (board[to]) return false;
    if (to - from === step) return true;
    // horde's pawns may also make a double step from the first rank
    const home = state.turn ? [6, 7] : [0, 1];
    return to - from === 2 * step && home.includes(from >> 3) && !board[from + step];
  }

  // Return {from, to, promotion}, {drop, to} or {from, to, rook}, null for an impossible move.
  function readChess(state, text, variant) {
    const bare = text.replace(/[+#!?]+$/, "");
    const { board, turn } = state;
    const castling = /^[O0]-[O0](-[O0])?$/.exec(bare);
    const king = board.indexOf(turn ? "k" : "K");
    if (castling) {
      const rook = state.rooks.find(
        (square) => square >> 3 === king >> 3 && (castling[1] ? square < king : square > king),
      );
      return rook === undefined ? null : castle(king, rook);
    }
    const drop = /^([PNBRQ]?)@([a-h][1-8])$/.exec(bare);
    if (drop) {
      const piece = drop[1] || "P";
      return { drop: turn ? piece.toLowerCase() : piece, to: squareOf(drop[2]) };
    }
    const uci = /^([a-h][1-8])([a-h][1-8])([nbrqk]?)$/.exec(bare);
    if (uci) {
      const from = squareOf(uci[1]);
      const to = squareOf(uci[2]);
      if (!board[from] || sideOf(board[from]) !== turn) return null;
      if (from === king && state.rooks.includes(to) && sideOf(board[to]) === turn) {
        return castle(king, to);
      }
      if (from === king && variant !== "chess960" && Math.abs(from - to) === 2) {
        const rook = state.rooks.find((s) => s >> 3 === king >> 3 && s > king === to > king);
        return rook === undefined ? null : castle(king, rook);
      }
      return { from, to, promotion: uci[3] };
    }
    const san = /^([KQRBN])?([a-h])?([1-8])?x?([a-h][1-8])(?:=?([QRBNK]))?$/.exec(bare);
    if (!san) return null;
    const kind = (san[1] || "P").toLowerCase();
    const to = squareOf(san[4]);
    const moves = [];
    board.forEach((piece, from) => {
      if (piece.toLowerCase() !== kind || sideOf(piece) !== turn) return;
      if (san[2] && FILES[from & 7] !== san[2]) return;
      if (san[3] && (from >> 3) + 1 !== Number(san[3])) return;
      const can = kind === "p" ? pawnReaches(state, from, to) : reaches(board, from, to, kind);
      if (can) moves.push({ from, to, promotion: (san[5] || "").toLowerCase() });
    });
    if (moves.length < 2) return moves[0] ?? null;
    return moves.find((move) => isSafe(state, move)) ?? null;
  }

  const castle = (king, rook) => ({
    from: king,
    to: (king & 56) + (rook > king ? 6 : 2),
    rook,
  });

  function afterChess(state, move) {
    const { turn } = state;
    const board = [...state.board];
    const promoted = new Set(state.promoted);
    const taken = [[...state.taken[0]], [...state.taken[1]]];
    const pockets = state.pockets && [...state.pockets];
    let rooks = state.rooks;
    let passant = -1;
    let clock = state.clock + 1;
    if (move.drop) {
      board[move.to] = move.drop;
      const at = pockets ? pockets.indexOf(move.drop) : -1;
      if (at >= 0) pockets.splice(at, 1);
      if (move.drop.toLowerCase() === "p") clock = 0;
    } else if (move.rook !== undefined) {
      const [king, rook] = [board[move.from], board[move.rook]];
      board[move.from] = board[move.rook] = "";
      board[move.to] = king;
      board[(move.from & 56) + (move.rook > move.from ? 5 : 3)] = rook;
      rooks = rooks.filter((square) => square >> 3 !== move.from >> 3);
    } else {
      const piece = board[move.from];
      const isPawn = piece.toLowerCase() === "p";
      let victim = move.to;
      if (isPawn && move.to === state.passant && !board[move.to] && isBeside(move.from, move.to)) {
        victim = move.to + (turn ? 8 : -8);
      }
      if (board[victim]) {
        taken[turn].push(board[victim]);
        if (pockets) {
          const letter = promoted.has(victim) ? "p" : board[victim].toLowerCase();
          pockets.push(turn ? letter : letter.toUpperCase());
        }
        promoted.delete(victim);
      }
      if (isPawn || board[victim]) clock = 0;
      board[victim] = "";
      board[move.from] = "";
      board[move.to] = piece;
      if (promoted.delete(move.from)) promoted.add(move.to);
      if (move.promotion) {
        board[move.to] = turn ? move.promotion : move.promotion.toUpperCase();
        if (pockets) promoted.add(move.to);
      }
      if (isPawn && Math.abs(move.to - move.from) === 16) passant = (move.from + move.to) / 2;
      const isKing = piece.toLowerCase() === "k";
      rooks = rooks.filter(
        (square) =>
          square !== move.from && square !== victim && !(isKing && square >> 3 === turn * 7),
      );
    }
    const number = state.number + turn;
    return { board, promoted, pockets, turn: 1 - turn, rooks, passant, clock, number, taken };
  }

  function chessPosition(state, label = "", move = null, before = null) {
    const check = inCheck(state.board, state.turn);
    let spoken = "";
    if (move) {
      const side = SIDES.chess[before.turn];
      const name = NAMES[(move.drop || before.board[move.from]).toLowerCase()];
      if (move.rook !== undefined) spoken = `${side} castles`;
      else if (move.drop) spoken = `${side} drops a ${name} on ${squareName(move.to)}`;
      else {
        spoken = `${side} ${name} ${squareName(move.from)} to ${squareName(move.to)}`;
        if (state.taken[before.turn].length > before.taken[before.turn].length) {
          spoken += `, takes a ${NAMES[state.taken[before.turn].at(-1).toLowerCase()]}`;
        }
        if (move.promotion) spoken += `, becomes a ${NAMES[move.promotion]}`;
      }
      if (label.endsWith("#")) spoken += ", mate";
      else if (check) spoken += ", check";
    }
    const last = !move ? [] : move.drop ? [squareName(move.to)] : [move.from, move.to].map(squareName);
    return { text: fenOf(state), turn: state.turn, last, label, spoken, check, state };
  }

  function* chessPositions(game) {
    const variant = game.variant ?? "standard";
    if (!(variant in CHESS)) throw new Error(`no board for the variant ${variant}`);
    let state = readFen(game.start || CHESS[variant]);
    if (variant === "crazyhouse") state.pockets ??= [];
    yield chessPosition(state);
    for (const text of words(game.moves)) {
      const move = readChess(state, text, variant);
      if (!move) return;
      const before = state;
      state = afterChess(state, move);
      yield chessPosition(state, text, move, before);
    }
  }

  // ---- shogi ----

  const START_SFEN = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1";
  const HAND = "RBGSNLP";
  const SHOGI_NAMES = {
    P: "pawn", L: "lance", N: "knight", S: "silver", G: "gold", B: "bishop", R: "rook", K: "king",
    "+P": "tokin", "+L": "promoted lance", "+N": "promoted knight", "+S": "promoted silver",
    "+B": "horse", "+R": "dragon",
  };
  const CSA = {
    P: "FU", L: "KY", N: "KE", S: "GI", G: "KI", B: "KA", R: "HI", K: "OU",
    "+P": "TO", "+L": "NY", "+N": "NK", "+S": "NG", "+B": "UM", "+R": "RY",
  };
  const GOLD = [[-1, -1], [0, -1], [1, -1], [-1, 0], [1, 0], [0, 1]];
  const DIAGONAL = [[-1, -1], [1, -1], [-1, 1], [1, 1]];
  const STRAIGHT = [[0, -1], [-1, 0], [1, 0], [0, 1]];
  // single steps (column, row) of Black's pieces, and directions in which they slide
  const STEPS = {
    P: [[0, -1]], L: [], N: [[-1, -2], [1, -2]], S: [...DIAGONAL, [0, -1]], G: GOLD,
    B: [], R: [], K: [...DIAGONAL, ...STRAIGHT],
    "+P": GOLD, "+L": GOLD, "+N": GOLD, "+S": GOLD, "+B": STRAIGHT, "+R": DIAGONAL,
  };
  const SLIDES = { L: [[0, -1]], B: DIAGONAL, R: STRAIGHT, "+B": DIAGONAL, "+R": STRAIGHT };

  // Squares are 0 (9a) to 80 (1i), row by row.
  const shogiName = (square) => `${9 - (square % 9)}${"abcdefghi"[Math.floor(square / 9)]}`;
  const shogiSquare = (name) => 9 - Number(name[0]) + 9 * "abcdefghi".indexOf(name[1]);

  function readSfen(sfen) {
    const [rows, turn = "b", hands = "-", number = "1"] = sfen.trim().split(/\s+/);
    const board = [];
    for (const [token] of rows.matchAll(/\+?[A-Za-z]|\d/g)) {
      if (/\d/.test(token)) board.push(...Array(Number(token)).fill(""));
      else board.push(token);
    }
    const held = {};
    for (const [, count, piece] of hands.matchAll(/(\d*)([A-Za-z])/g)) {
      held[piece] = Number(count || 1);
    }
    return { board, turn: turn === "w" ? 1 : 0, hands: held, number: Number(number) };
  }

  const handText = (state) =>
    [...HAND, ...HAND.toLowerCase()]
      .filter((piece) => state.hands[piece])
      .map((piece) => (state.hands[piece] > 1 ? state.hands[piece] : "") + piece)
      .join("") || "-";

  function shogiRows(state) {
    const rows = [];
    for (let row = 0; row < 9; row++) {
      let text = "";
      let empty = 0;
      for (const piece of state.board.slice(9 * row, 9 * row + 9)) {
        if (!piece) empty++;
        else {
          text += (empty || "") + piece;
          empty = 0;
        }
      }
      rows.push(text + (empty || ""));
    }
    return rows.join("/");
  }

  function shogiReaches(board, from, to) {
    const kind = board[from].toUpperCase();
    const forward = sideOf(board[from]) ? -1 : 1;
    const across = (to % 9) - (from % 9);
    const down = (Math.floor(to / 9) - Math.floor(from / 9)) * forward;
    if (STEPS[kind].some(([x, y]) => x === across && y === down)) return true;
    return (SLIDES[kind] ?? []).some(([x, y]) => {
      const distance = Math.max(Math.abs(across), Math.abs(down));
      if (!distance || across !== x * distance || down !== y * distance) return false;
      return isFree(board, from, to, x + 9 * y * forward);
    });
  }

  function shogiCheck(board, side) {
    const king = board.indexOf(side ? "k" : "K");
    return (
      king >= 0 &&
      board.some((piece, from) => piece && sideOf(piece) !== side && shogiReaches(board, from, king))
    );
  }

  function readUsi(state, text) {
    const match = /^(?:([1-9][a-i])|([PLNSGBR])\*)([1-9][a-i])(\+?)$/.exec(text);
    if (!match) return null;
    const to = shogiSquare(match[3]);
    if (match[2]) {
      const drop = state.turn ? match[2].toLowerCase() : match[2];
      return state.hands[drop] && !state.board[to] ? { drop, to } : null;
    }
    const from = shogiSquare(match[1]);
    const piece = state.board[from];
    if (!piece || sideOf(piece) !== state.turn) return null;
    return { from, to, piece, promotes: match[4] === "+" };
  }

  function afterShogi(state, move) {
    const board = [...state.board];
    const hands = { ...state.hands };
    if (move.drop) {
      board[move.to] = move.drop;
      hands[move.drop]--;
    } else {
      const victim = board[move.to].replace("+", "");
      if (victim) {
        const piece = state.turn ? victim.toLowerCase() : victim.toUpperCase();
        hands[piece] = (hands[piece] ?? 0) + 1;
      }
      board[move.from] = "";
      board[move.to] = (move.promotes ? "+" : "") + move.piece;
    }
    return { board, turn: 1 - state.turn, hands, number: state.number + 1 };
  }

  // Return a move in Western notation: P-7f, Sx4d+, G4i-5h, P*5e.
  function westernText(state, move) {
    const target = shogiName(move.to);
    if (move.drop) return `${move.drop.toUpperCase()}*${target}`;
    const { board, turn } = state;
    const isOpen = board.some(
      (piece, from) => piece === move.piece && from !== move.from && shogiReaches(board, from, move.to),
    );
    const inCamp = (square) => (turn ? square >= 54 : square < 27);
    const couldPromote =
      /^[PLNSBR]$/i.test(move.piece) && (inCamp(move.from) || inCamp(move.to)) && !move.promotes;
    return (
      move.piece.toUpperCase() +
      (isOpen ? shogiName(move.from) : "") +
      (board[move.to] ? "x" : "-") +
      target +
      (move.promotes ? "+" : couldPromote ? "=" : "")
    );
  }

  function shogiPosition(state, move = null, before = null) {
    const check = shogiCheck(state.board, state.turn);
    let spoken = "";
    if (move) {
      const side = SIDES.shogi[before.turn];
      const name = SHOGI_NAMES[(move.drop || move.piece).toUpperCase()];
      const victim = before.board[move.to];
      spoken = move.drop
        ? `${side} drops a ${name} on ${shogiName(move.to)}`
        : `${side} ${name} ${shogiName(move.from)} to ${shogiName(move.to)}` +
          (victim ? `, takes a ${SHOGI_NAMES[victim.toUpperCase()]}` : "") +
          (move.promotes ? ", promotes" : "");
      if (check) spoken += ", check";
    }
    return {
      text: `${shogiRows(state)} ${"bw"[state.turn]} ${handText(state)} ${state.number}`,
      turn: state.turn,
      last: !move ? [] : move.drop ? [shogiName(move.to)] : [move.from, move.to].map(shogiName),
      label: move ? westernText(before, move) : "",
      spoken,
      check,
      state,
      rows: shogiRows(state),
      hands: handText(state),
    };
  }

  function* shogiPositions(game) {
    let state = readSfen(game.start || START_SFEN);
    yield shogiPosition(state);
    for (const text of words(game.moves)) {
      const move = readUsi(state, text);
      if (!move) return;
      const before = state;
      state = afterShogi(state, move);
      yield shogiPosition(state, move, before);
    }
  }

  // ---- Go ----

  const COLUMNS = "ABCDEFGHJKLMNOPQRSTUVWXYZ";

  // Points are [column, row] from the top left.
  function pointOf(vertex, size) {
    const column = COLUMNS.indexOf(vertex[0].toUpperCase());
    const row = size - Number(vertex.slice(1));
    return column >= 0 && column < size && row >= 0 && row < size ? [column, row] : null;
  }

  const neighbours = ([x, y], size) =>
    [[x - 1, y], [x + 1, y], [x, y - 1], [x, y + 1]].filter(
      ([a, b]) => a >= 0 && b >= 0 && a < size && b < size,
    );

  // Remove the chain at a point if it has no liberty; return the number of its stones.
  function capture(board, point) {
    const size = board.length;
    const colour = board[point[1]][point[0]];
    const chain = [point];
    const seen = new Set([String(point)]);
    for (const stone of chain) {
      for (const next of neighbours(stone, size)) {
        const there = board[next[1]][next[0]];
        if (!there) return 0;
        if (there === colour && !seen.has(String(next))) {
          seen.add(String(next));
          chain.push(next);
        }
      }
    }
    for (const [x, y] of chain) board[y][x] = 0;
    return chain.length;
  }

  // 1 is a black stone, -1 a white one, as in Shudan.
  function afterGo(state, vertex) {
    const size = state.board.length;
    const turn = 1 - state.turn;
    if (/^pass$/i.test(vertex)) return { ...state, turn };
    const point = pointOf(vertex, size);
    if (!point || state.board[point[1]][point[0]]) return null;
    const board = state.board.map((row) => [...row]);
    const taken = [...state.taken];
    const colour = state.turn ? -1 : 1;
    board[point[1]][point[0]] = colour;
    for (const [x, y] of neighbours(point, size)) {
      if (board[y][x] === -colour) taken[state.turn] += capture(board, [x, y]);
    }
    taken[turn] += capture(board, point);
    return { board, turn, taken };
  }

  const letters = (size) => ([x, y]) => `[${String.fromCharCode(97 + x, 97 + y)}]`;

  function goText(state, game) {
    const points = { 1: "", "-1": "" };
    state.board.forEach((row, y) =>
      row.forEach((stone, x) => {
        if (stone) points[stone] += letters(game.size)([x, y]);
      }),
    );
    const black = points[1] && `AB${points[1]}`;
    const white = points[-1] && `AW${points[-1]}`;
    return `(;FF[4]GM[1]SZ[${game.size}]KM[${game.komi ?? 0}]${black}${white}PL[${"BW"[state.turn]}])`;
  }

  function goPosition(state, game, vertex = "", before = null) {
    const isPass = /^pass$/i.test(vertex);
    const side = before ? SIDES.go[before.turn] : "";
    let spoken = !vertex ? "" : isPass ? `${side} passes` : `${side} ${vertex}`;
    const captured = before ? state.taken[before.turn] - before.taken[before.turn] : 0;
    if (captured) spoken += `, takes ${captured} ${captured > 1 ? "stones" : "stone"}`;
    return {
      text: goText(state, game),
      turn: state.turn,
      last: vertex && !isPass ? [vertex.toUpperCase()] : [],
      label: vertex,
      spoken,
      check: false,
      state,
    };
  }

  function* goPositions(game) {
    if (!(game.size >= 2 && game.size <= 25)) throw new Error("the size of the board is unknown");
    const board = Array.from({ length: game.size }, () => Array(game.size).fill(0));
    for (const vertex of words(game.setup)) {
      const point = pointOf(vertex, game.size);
      if (point) board[point[1]][point[0]] = 1;
    }
    let state = { board, turn: game.first ?? 0, taken: [0, 0] };
    yield goPosition(state, game);
    for (const vertex of words(game.moves)) {
      const before = state;
      state = afterGo(state, vertex);
      if (!state) return;
      yield goPosition(state, game, vertex, before);
    }
  }

  // ---- all games ----

  const words = (text) => (text ?? "").split(/\s+/).filter(Boolean);
  const POSITIONS = { chess: chessPositions, shogi: shogiPositions, go: goPositions };

  // Return {positions, problem}: the start and the position after each move; `problem` says why
  // there are fewer positions than moves, or "".
  //
  // A position has `text` (FEN, SFEN, or SGF of the stones), `turn` (0 or 1), `last` (squares of
  // the last move), `label` and `spoken` (the move in notation and in words), `check` and `state`.
  function play(game) {
    const moves = words(game.moves);
    const positions = [];
    try {
      for (const position of POSITIONS[game.game](game)) positions.push(position);
    } catch (error) {
      if (!positions.length) return { positions, problem: error.message };
    }
    const missing = positions.length <= moves.length;
    const problem = missing ? `Move ${positions.length}, ${moves[positions.length - 1]}, cannot be shown.` : "";
    return { positions, problem };
  }

  // Return the whole game as PGN, CSA or SGF.
  function recordText(game, positions) {
    const played = positions.slice(1);
    const date = (game.date ?? "").split("-");
    const [first, second] = [0, 1].map((i) => game.names?.[i] || game.players[i]);
    if (game.game === "chess") {
      const tags = {
        Event: game.matchup || "?", Site: "?", Date: game.date ? date.join(".") : "????.??.??",
        Round: String(game.number), White: first, Black: second, Result: game.result ?? "*",
        ...(game.variant && game.variant !== "standard" ? { Variant: game.variant } : {}),
        ...(game.start ? { SetUp: "1", FEN: game.start } : {}),
      };
      const head = Object.entries(tags).map(
        ([name, value]) => `[${name} "${value.replace(/[\\"]/g, "\\$&")}"]`,
      );
      const text = played.map((position, i) => {
        const before = positions[i].state;
        const number = before.turn ? (i ? "" : `${before.number}... `) : `${before.number}. `;
        return number + position.label;
      });
      return `${head.join("\n")}\n\n${[...text, game.result ?? "*"].join(" ")}\n`;
    }
    if (game.game === "go") {
      const quoted = (text) => text.replace(/[\\\]]/g, "\\$&");
      const nodes = played.map((position, i) => {
        const point = position.last.length ? letters()(pointOf(position.last[0], game.size)) : "[]";
        return `;${"BW"[positions[i].turn]}${point}`;
      });
      const stones = words(game.setup).map((vertex) => letters()(pointOf(vertex, game.size))).join("");
      return (
        `(;FF[4]GM[1]CA[UTF-8]SZ[${game.size}]KM[${game.komi ?? 0}]` +
        (stones && `HA[${words(game.setup).length}]AB${stones}`) +
        `PB[${quoted(first)}]PW[${quoted(second)}]RE[${quoted(game.result ?? "?")}]` +
        `${game.date ? `DT[${game.date}]` : ""}\n${nodes.join("")})\n`
      );
    }
    const digits = (name) => name[0] + ("abcdefghi".indexOf(name[1]) + 1);
    const start = positions[0].state;
    const rows = Array.from({ length: 9 }, (_, row) => {
      const pieces = start.board.slice(9 * row, 9 * row + 9);
      return (
        `P${row + 1}` +
        pieces.map((p) => (p ? "+-"[sideOf(p)] + CSA[p.toUpperCase()] : " * ")).join("")
      );
    });
    for (const side of [0, 1]) {
      const hand = [...HAND].flatMap((piece) =>
        Array(start.hands[side ? piece.toLowerCase() : piece] ?? 0).fill(`00${CSA[piece]}`),
      );
      if (hand.length) rows.push(`P${"+-"[side]}${hand.join("")}`);
    }
    const moves = played.map((position, i) => {
      const target = position.last.at(-1);
      const piece = CSA[position.state.board[shogiSquare(target)].toUpperCase()];
      const origin = position.last.length > 1 ? digits(position.last[0]) : "00";
      return `${"+-"[positions[i].turn]}${origin}${digits(target)}${piece}`;
    });
    const lines = ["V2.2", `N+${first}`, `N-${second}`, ...rows, "+-"[start.turn], ...moves];
    return `${lines.join("\n")}\n`;
  }

  globalThis.ringmasterRules = { play, recordText, SIDES, NAMES, SHOGI_NAMES, pointOf };
})();

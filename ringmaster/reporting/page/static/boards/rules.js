// Positions of a recorded game of chess, shogi or Go after each move.
//
// `ringmasterRules.play(game)` takes a `BoardGame` (ringmaster/model/board.py) and needs no page:
// tests run it in node.  Needs vendor.js.
"use strict";
(() => {
  const { chess, shogi, GoBoard } = ringmasterRuleParts;
  const SIDES = { chess: ["White", "Black"], shogi: ["Black", "White"], go: ["Black", "White"] };

  const known = (result) =>
    result.unwrap((value) => value, () => { throw new Error("the start position cannot be read"); });

  // ---- chess ----

  // The rules by which the pieces of a variant move, which may end its games earlier.
  const CHESS = {
    standard: "chess",
    chess960: "chess",
    "3check": "chess",
    "three-check": "chess",
    "5check": "chess",
    kingofthehill: "chess",
    crazyhouse: "crazyhouse",
    antichess: "antichess",
    giveaway: "antichess",
    suicide: "antichess",
    racingkings: "racingkings",
    horde: "horde",
  };
  const COLOURS = ["white", "black"];

  function fenOf(position) {
    const reversed = (text) => [...text].reverse().join("");
    const fen = chess.makeFen(position.toSetup());
    // in crazyhouse, queens come first
    return fen.replace(/\[([A-Z]*)([a-z]*)\]/, (_, own, other) => `[${reversed(own)}${reversed(other)}]`);
  }

  function chessPosition(position, taken, move = {}) {
    const pieces = [[], []];
    for (const [square, { role, color }] of position.board) {
      pieces[COLOURS.indexOf(color)].push(`${role} ${chess.makeSquare(square)}`);
    }
    const { pockets } = position;
    const held = (color) =>
      Object.entries(pockets[color]).flatMap(([role, count]) => Array(count).fill({ role, color }));
    return {
      text: fenOf(position),
      turn: COLOURS.indexOf(position.turn),
      number: position.fullmoves,
      check: position.isCheck(),
      pieces,
      taken: pockets ? COLOURS.map(held) : taken,
      inHand: Boolean(pockets),
      last: [],
      label: "",
      spoken: "",
      ...move,
    };
  }

  function* chessPositions(game) {
    const variant = game.variant ?? "standard";
    if (!(variant in CHESS)) throw new Error(`no board for the variant ${variant}`);
    const rules = CHESS[variant];
    let position = chess.defaultPosition(rules);
    if (game.start) {
      position = known(chess.parseFen(game.start).chain((setup) => chess.setupPosition(rules, setup)));
    }
    let taken = [[], []];
    yield chessPosition(position, taken);
    for (const label of words(game.moves)) {
      const before = position;
      const move = chess.parseSan(before, label.replace(/[+#!?]+$/, "")) ?? chess.parseUci(label);
      if (!move || !before.isLegal(move)) return;
      position = before.clone();
      position.play(move);
      const side = COLOURS.indexOf(before.turn);
      const castling = chess.castlingSide(before, move);
      const to = castling ? chess.kingCastlesTo(before.turn, castling) : move.to;
      const last = ("from" in move ? [move.from, to] : [to]).map(chess.makeSquare);
      const role = move.role ?? before.board.getRole(move.from);
      const isPassant = move.from !== undefined && role === "pawn" && to === before.epSquare;
      const victim = castling ? undefined
        : isPassant ? { role: "pawn", color: position.turn }
        : before.board.get(to);
      if (victim) taken = taken.map((pieces, i) => (i === side ? [...pieces, victim] : pieces));
      let spoken = `${SIDES.chess[side]} `;
      if (castling) spoken += "castles";
      else if (move.role) spoken += `drops a ${role} on ${last[0]}`;
      else spoken += `${role} ${last.join(" to ")}`;
      if (victim) spoken += `, takes a ${victim.role}`;
      if (move.promotion) spoken += `, becomes a ${move.promotion}`;
      if (label.endsWith("#")) spoken += ", mate";
      else if (position.isCheck()) spoken += ", check";
      yield chessPosition(position, taken, { last, label, spoken });
    }
  }

  // ---- shogi ----

  const PLAYERS = ["sente", "gote"];
  const spokenRole = (role) => role.replace("promoted", "promoted ");

  function shogiPosition(position, csa, move = {}) {
    const pieces = [[], []];
    for (const [square, { role, color }] of position.board) {
      pieces[PLAYERS.indexOf(color)].push(`${spokenRole(role)} ${shogi.makeSquareName(square)}`);
    }
    return {
      text: shogi.makeSfen(position),
      turn: PLAYERS.indexOf(position.turn),
      check: position.isCheck(),
      pieces,
      rows: shogi.makeBoardSfen("standard", position.board),
      hands: shogi.makeHandsSfen("standard", position.hands),
      csa,
      last: [],
      label: "",
      spoken: "",
      ...move,
    };
  }

  function* shogiPositions(game) {
    let position = known(shogi.parseSfen("standard", game.start || shogi.initialSfen("standard")));
    yield shogiPosition(position, shogi.makeCsaHeader(position));
    for (const text of words(game.moves)) {
      const before = position;
      const move = shogi.parseUsi(text);
      if (!move || !before.isLegal(move)) return;
      position = before.clone();
      position.play(move);
      const last = (move.role ? [move.to] : [move.from, move.to]).map(shogi.makeSquareName);
      const role = spokenRole(move.role ?? before.board.getRole(move.from));
      const victim = before.board.getRole(move.to);
      let spoken = `${SIDES.shogi[PLAYERS.indexOf(before.turn)]} `;
      spoken += move.role ? `drops a ${role} on ${last[0]}` : `${role} ${last.join(" to ")}`;
      if (victim) spoken += `, takes a ${spokenRole(victim)}`;
      if (move.promotion) spoken += ", promotes";
      if (position.isCheck()) spoken += ", check";
      const label = shogi.makeWesternEngineMoveOrDrop(before, move);
      yield shogiPosition(position, shogi.makeCsaMoveOrDrop(before, move), { last, label, spoken });
    }
  }

  // ---- Go ----

  // Points are [column, row] from the top left.
  const pointOf = (vertex, size) => GoBoard.fromDimensions(size).parseVertex(vertex);

  const letters = (size) => ([x, y]) => `[${String.fromCharCode(97 + x, 97 + y)}]`;

  // 1 is a black stone, -1 a white one, as in Shudan.
  function goText(board, turn, game) {
    const points = { 1: "", "-1": "" };
    board.signMap.forEach((row, y) =>
      row.forEach((stone, x) => {
        if (stone) points[stone] += letters(game.size)([x, y]);
      }),
    );
    const black = points[1] && `AB${points[1]}`;
    const white = points[-1] && `AW${points[-1]}`;
    return `(;FF[4]GM[1]SZ[${game.size}]KM[${game.komi ?? 0}]${black}${white}PL[${"BW"[turn]}])`;
  }

  function goPosition(board, turn, game, move = {}) {
    return {
      text: goText(board, turn, game),
      turn,
      check: false,
      board: board.signMap,
      taken: [1, -1].map((sign) => board.getCaptures(sign)),
      last: [],
      label: "",
      spoken: "",
      ...move,
    };
  }

  function* goPositions(game) {
    if (!(game.size >= 2 && game.size <= 25)) throw new Error("the size of the board is unknown");
    let board = GoBoard.fromDimensions(game.size);
    for (const vertex of words(game.setup)) board.set(board.parseVertex(vertex), 1);
    let turn = game.first ?? 0;
    yield goPosition(board, turn, game);
    for (const label of words(game.moves)) {
      const before = board;
      const isPass = /^pass$/i.test(label);
      const point = before.parseVertex(label);
      if (!isPass && before.get(point) !== 0) return;
      const sign = turn ? -1 : 1;
      board = before.makeMove(sign, point);
      const captured = board.getCaptures(sign) - before.getCaptures(sign);
      let spoken = `${SIDES.go[turn]} ${isPass ? "passes" : label}`;
      if (captured) spoken += `, takes ${captured} ${captured > 1 ? "stones" : "stone"}`;
      turn = 1 - turn;
      yield goPosition(board, turn, game, { last: isPass ? [] : [label.toUpperCase()], label, spoken });
    }
  }

  // ---- all games ----

  const words = (text) => (text ?? "").split(/\s+/).filter(Boolean);
  const POSITIONS = { chess: chessPositions, shogi: shogiPositions, go: goPositions };

  // Return {positions, problem}: the start and the position after each move; `problem` says why
  // there are fewer positions than moves, or "".
  //
  // A position has `text` (FEN, SFEN, or SGF of the stones), `turn` (0 or 1), `last` (squares of
  // the last move), `label` and `spoken` (the move in notation and in words) and `check`; of chess
  // and shogi `pieces` (names and squares of both sides), of chess and Go what each side has
  // `taken`.
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
        const before = positions[i];
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
    const moves = played.map((position, i) => `${"+-"[positions[i].turn]}${position.csa}`);
    const lines = ["V2.2", `N+${first}`, `N-${second}`, positions[0].csa, ...moves];
    return `${lines.join("\n")}\n`;
  }

  globalThis.ringmasterRules = { play, recordText, SIDES, pointOf };
})();

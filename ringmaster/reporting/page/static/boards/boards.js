// Boards that play through recorded games of chess, shogi and Go.
//
// `ringmasterBoards.mount(element, game)` shows a `BoardGame` (ringmaster/model/board.py) in an
// element and returns {goto(ply), update(game), focus(), destroy()}.  `update` takes the same game
// with further moves; a board that shows the last move follows.  Needs util.js, vendor.js
// and rules.js.
"use strict";
(() => {
  const { play, recordText, SIDES, pointOf } = ringmasterRules;
  const { Chessground, Shogiground, Goban, h, render } = ringmasterBoardParts;
  const MATE = 100000;
  const STEP_MS = 800;
  const ICONS = {
    first: "M18 5l-7 7 7 7M6 5v14",
    previous: "M15 5l-7 7 7 7",
    next: "M9 5l7 7-7 7",
    last: "M6 5l7 7-7 7M18 5v14",
    play: "M8 5l11 7-11 7z",
    pause: "M8 5v14M16 5v14",
    flip: "M7 4v16l-4-4m4 4 4-4M17 20V4l-4 4m4-4 4 4",
  };

  const { el: make, svg: makeSvg } = page;

  const icon = (name) =>
    makeSvg("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, makeSvg("path", { d: ICONS[name] }));

  const isCalm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

  // ---- texts ----

  function clockText(ms) {
    const seconds = Math.max(ms, 0) / 1000;
    const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
    const rest = seconds < 60 ? (seconds % 60).toFixed(1) : String(Math.floor(seconds % 60));
    const padded = rest.padStart(seconds < 60 ? 4 : 2, "0");
    return hours ? `${hours}:${String(minutes).padStart(2, "0")}:${padded}` : `${minutes}:${padded}`;
  }

  const secondsText = (ms) => `${(ms / 1000).toFixed(ms < 10000 ? 2 : 1)} s`;

  // Return "+0.31" or "−M5", in Go "62.3%".
  function scoreText(game, score) {
    if (game.game === "go") return `${(50 + score / 100).toFixed(1)}%`;
    const sign = score < 0 ? "−" : score > 0 ? "+" : "";
    const size = Math.abs(score);
    return size > MATE - 10000 ? `${sign}M${MATE - size}` : `${sign}${(size / 100).toFixed(2)}`;
  }

  const signed = (points) => `${points < 0 ? "−" : "+"}${Math.abs(points).toFixed(1)}`;

  // Return "score +0.31", in Go "Black 62.3% +2.5 points", or "".
  function scoreWords(game, at) {
    const score = game.scores?.[at];
    if (score == null) return "";
    if (game.game !== "go") return `score ${scoreText(game, score)}`;
    const lead = game.leads?.[at];
    return `Black ${scoreText(game, score)}` + (lead == null ? "" : ` ${signed(lead)} points`);
  }

  function moveNumber(game, positions, ply) {
    const before = positions[ply - 1];
    return game.game === "chess" ? before.number + (before.turn ? "…" : ".") : `${ply}.`;
  }

  function counted(names) {
    const counts = new Map();
    for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
    return [...counts].map(([name, n]) => (n > 1 ? `${n} ${name}s` : name)).join(", ");
  }

  // Return the places of all pieces in words.
  function positionText(game, position) {
    if (game.game === "go") {
      const stones = position.board.flat();
      const count = (colour) => stones.filter((stone) => stone === colour).length;
      return `${game.size} by ${game.size} board: ${count(1)} black and ${count(-1)} white stones`;
    }
    return position.pieces
      .map((pieces, side) => `${SIDES[game.game][side]}: ${pieces.join(", ")}`)
      .join(". ");
  }

  // ---- the three boards: {show(position, isFlipped), destroy()} ----

  function chessBoard(element) {
    const ground = Chessground(element, {
      viewOnly: true,
      disableContextMenu: false,
      drawable: { enabled: false, visible: false },
      animation: { enabled: !isCalm(), duration: 150 },
    });
    return {
      show(position, isFlipped) {
        const turnColor = position.turn ? "black" : "white";
        ground.set({
          fen: position.text,
          turnColor,
          orientation: isFlipped ? "black" : "white",
          lastMove: position.last.length ? position.last : undefined,
          check: position.check ? turnColor : false,
        });
      },
      destroy: () => ground.destroy(),
    };
  }

  function shogiBoard(element, hands) {
    let ground = null;
    return {
      show(position, isFlipped) {
        const config = {
          sfen: { board: position.rows, hands: position.hands },
          turnColor: position.turn ? "gote" : "sente",
          orientation: isFlipped ? "gote" : "sente",
          lastDests: position.last.length ? position.last : undefined,
          checks: position.check ? (position.turn ? "gote" : "sente") : false,
        };
        if (ground) {
          ground.set(config);
          return;
        }
        const fixed = {
          viewOnly: true,
          scaleDownPieces: false,
          drawable: { enabled: false, visible: false },
          coordinates: { enabled: true, files: "numeric", ranks: "engine" },
          hands: { roles: ["rook", "bishop", "gold", "silver", "knight", "lance", "pawn"] },
          animation: { enabled: !isCalm(), hands: false, duration: 150 },
        };
        ground = Shogiground({ ...fixed, ...config }, { board: element, hands });
      },
      destroy: () => ground?.destroy(),
    };
  }

  function goBoard(element, size) {
    let shown = null;
    const turned = (map) => map.map((row) => [...row].reverse()).reverse();
    const letters = "ABCDEFGHJKLMNOPQRSTUVWXYZ";
    function draw() {
      const width = element.clientWidth;
      if (!shown || !width) return;
      const [position, isFlipped] = shown;
      const markers = position.board.map((row) => row.map(() => null));
      for (const vertex of position.last) {
        const [x, y] = pointOf(vertex, size);
        markers[y][x] = { type: "circle" };
      }
      const view = isFlipped ? turned : (map) => map;
      const properties = {
        vertexSize: Math.max(width / (size + 2.5), 6),
        signMap: view(position.board),
        markerMap: view(markers),
        showCoordinates: true,
        coordX: (x) => letters[isFlipped ? size - 1 - x : x],
        coordY: (y) => (isFlipped ? y + 1 : size - y),
      };
      render(h(Goban, properties), element);
    }
    const observer = new ResizeObserver(draw);
    observer.observe(element);
    return {
      show(position, isFlipped) {
        shown = [position, isFlipped];
        draw();
      },
      destroy() {
        observer.disconnect();
        render(null, element);
      },
    };
  }

  // ---- scores over plies ----

  const GRAPH_HEIGHT = 100;
  // Curves in pawns: one pawn is a fifth of the way to the edge, five pawns half of it.  A winrate
  // has its place.
  const PAWNS = {
    name: (side) => `score in pawns from ${side}'s side`,
    ticks: [[500, "+5"], [100, "+1"], [-100, "−1"], [-500, "−5"]],
    heightOf: (score) => (GRAPH_HEIGHT / 2) * (1 - score / (Math.abs(score) + 500)),
  };
  const WINRATE = {
    name: (side) => `winrate of ${side}`,
    ticks: [[2500, "75%"], [0, "50%"], [-2500, "25%"]],
    heightOf: (score) => (GRAPH_HEIGHT / 2) * (1 - score / 5000),
  };

  // Return {element, show(ply)}; `element` is null without scores.
  function scoreGraph(game, plies, goto) {
    const scores = game.scores ?? [];
    const known = scores.filter((score) => score !== null);
    if (known.length < 2) return { element: null, show() {} };
    const { name, ticks, heightOf } = game.game === "go" ? WINRATE : PAWNS;
    const axis = name(SIDES[game.game][0]);
    const first = game.first ?? 0;
    const line = (player) => {
      const points = scores
        .map((score, i) => [i + 1, score])
        .filter(([ply, score]) => score !== null && (ply - 1 + first) % 2 === player);
      const path = points.map(([ply, score], i) => `${i ? "L" : "M"}${ply} ${heightOf(score).toFixed(1)}`);
      return makeSvg("path", { class: `rb-line rb-line-${player}`, d: path.join("") });
    };
    const level = (score, name) =>
      makeSvg("path", { class: `rb-level ${name}`, d: `M0 ${heightOf(score)}H${plies}` });
    const cursor = makeSvg("path", { class: "rb-cursor", d: `M0 0V${GRAPH_HEIGHT}` });
    const svg = makeSvg(
      "svg",
      {
        viewBox: `0 0 ${plies} ${GRAPH_HEIGHT}`,
        preserveAspectRatio: "none",
        role: "img",
        "aria-label":
          `Curves: ${axis}; lowest ${scoreText(game, Math.min(...known))}, ` +
          `highest ${scoreText(game, Math.max(...known))}`,
      },
      ...ticks.map(([score]) => level(score, "")),
      level(0, "rb-zero"),
      line(0),
      line(1),
      cursor,
    );
    svg.addEventListener("click", (event) => {
      const box = svg.getBoundingClientRect();
      goto(Math.round(((event.clientX - box.left) / box.width) * plies));
    });
    const labels = ticks.map(([score, text]) => {
      const label = make("span", { class: "rb-tick", "aria-hidden": "true" }, text);
      label.style.top = `${heightOf(score)}%`;
      return label;
    });
    const legend = make(
      "div",
      { class: "rb-legend" },
      make("span", { class: "rb-key-0" }, game.players[0]),
      " and ",
      make("span", { class: "rb-key-1" }, game.players[1]),
      `: ${axis}`,
    );
    const plot = make("div", { class: "rb-plot" }, svg, ...labels);
    return {
      element: make("div", { class: "rb-graph" }, plot, legend),
      show: (ply) => cursor.setAttribute("d", `M${ply} 0V${GRAPH_HEIGHT}`),
    };
  }

  // ---- the whole view ----

  function mount(element, firstGame) {
    let game, positions, problem, graph, moveButtons;
    let ply = 0;
    let isFlipped = false;
    let timer = null;

    const button = (name, label, action) => {
      const made = make("button", { type: "button", class: "rb-button", "aria-label": label, title: label }, icon(name));
      made.addEventListener("click", action);
      return made;
    };
    const player = () => ({
      row: make("div", { class: "rb-player" }),
      name: make("span", { class: "rb-name" }),
      taken: make("span", { class: "rb-taken", role: "img" }),
      hand: make("div", { class: "rb-hand" }),
      clock: make("span", { class: "rb-clock" }),
    });
    const [top, bottom] = [player(), player()];
    for (const { row, name, taken, hand, clock } of [top, bottom]) row.append(name, taken, hand, clock);
    const surface = make("div", { class: "rb-surface" });
    const frame = make("div", { class: "rb-frame", role: "img" }, surface);
    const playButton = button("play", "Play", toggle);
    const controls = make(
      "div",
      { class: "rb-controls" },
      button("first", "First position", () => step(0)),
      button("previous", "Previous move", () => step(ply - 1)),
      playButton,
      button("next", "Next move", () => step(ply + 1)),
      button("last", "Last move", () => step(positions.length - 1)),
      button("flip", "Turn the board", () => {
        isFlipped = !isFlipped;
        show();
      }),
    );
    const slider = make("input", { type: "range", class: "rb-slider", min: "0", "aria-label": "Move" });
    slider.addEventListener("input", () => step(Number(slider.value)));
    const outcome = make("p", { class: "rb-outcome" });
    const info = make("p", { class: "rb-info" });
    const graphPlace = make("div");
    const list = make("ol", { class: "rb-moves", "aria-label": "Moves" });
    list.addEventListener("click", (event) => {
      const move = event.target.closest("button");
      if (move) step(Number(move.dataset.ply));
    });
    const copies = make("div", { class: "rb-copies" });
    const live = make("p", { class: "rb-live", "aria-live": "polite" });
    const root = make(
      "div",
      { class: "rb", role: "group", tabindex: "-1" },
      make("div", { class: "rb-table" }, top.row, frame, bottom.row, controls, slider),
      make("div", { class: "rb-side" }, outcome, graphPlace, info, list, copies),
      live,
    );
    // in a dialog, the keys work wherever the focus is
    const scope = element.closest("dialog") ?? root;
    scope.addEventListener("keydown", onKey);
    take(firstGame);
    root.classList.add(`rb-${game.game}`);
    // the pieces of chessground's style sheet
    if (game.game === "chess") for (const { taken } of [top, bottom]) taken.classList.add("cg-wrap");
    // boards measure their place when they are made
    element.replaceChildren(root);
    const board =
      !positions.length ? null
      : game.game === "chess" ? chessBoard(surface)
      : game.game === "go" ? goBoard(surface, game.size)
      : shogiBoard(surface, { top: top.hand, bottom: bottom.hand });
    if (game.in_progress) ply = Math.max(positions.length - 1, 0);
    show(false);

    function onKey(event) {
      const isTyped = event.target.matches("input, textarea, select");
      if (event.ctrlKey || event.altKey || event.metaKey || isTyped) return;
      const targets = {
        ArrowLeft: ply - 1,
        ArrowRight: ply + 1,
        Home: 0,
        End: positions.length - 1,
        PageUp: ply - 10,
        PageDown: ply + 10,
      };
      if (event.key in targets) step(targets[event.key]);
      else if (event.key === "f") {
        isFlipped = !isFlipped;
        show();
      } else return;
      event.preventDefault();
    }

    // Go to a position because of the user, who takes over from the automatic play.
    function step(target) {
      stop();
      goto(target);
    }

    function goto(target) {
      const wanted = Math.min(Math.max(Math.round(Number(target)) || 0, 0), Math.max(positions.length - 1, 0));
      if (wanted === ply) return;
      ply = wanted;
      show();
    }

    function toggle() {
      if (timer !== null) {
        stop();
        return;
      }
      if (ply === positions.length - 1) goto(0);
      timer = setInterval(() => {
        goto(ply + 1);
        if (ply >= positions.length - 1) stop();
      }, STEP_MS);
      setPlaying("pause", "Pause");
    }

    function stop() {
      if (timer === null) return;
      clearInterval(timer);
      timer = null;
      setPlaying("play", "Play");
    }

    function setPlaying(name, label) {
      playButton.replaceChildren(icon(name));
      playButton.setAttribute("aria-label", label);
      playButton.title = label;
    }

    // Take over a game, or the same game with further moves.
    function take(next) {
      game = next;
      ({ positions, problem } = play(game));
      const texts = (game.moves ?? "").split(" ").filter(Boolean);
      const plies = positions.length ? positions.length - 1 : texts.length;
      const [one, other] = game.players;
      root.setAttribute("aria-label", `Game ${game.number || game.id}: ${one} against ${other}`);
      slider.max = String(plies);
      slider.disabled = plies === 0;
      const parts = [
        game.in_progress ? "In progress" : game.result,
        game.reason,
        game.detail,
        game.opening && `Opening: ${game.opening}`,
        problem,
      ];
      outcome.replaceChildren(
        make("strong", {}, parts[0] || "*"),
        parts.slice(1).filter(Boolean).map((part) => ` · ${part}`).join(""),
      );
      graph = scoreGraph(game, plies, step);
      graphPlace.replaceChildren(...(graph.element ? [graph.element] : []));
      fillMoves();
      // a variant without a board
      if (!positions.length) list.replaceChildren(make("li", { class: "rb-text" }, texts.join(" ")));
      fillCopies();
    }

    function fillMoves() {
      moveButtons = positions.slice(1).map((position, i) =>
        make("button", { type: "button", class: "rb-move", tabindex: "-1", "data-ply": i + 1 }, position.label),
      );
      const rows = [];
      moveButtons.forEach((move, i) => {
        if (i < (game.book ?? 0)) move.classList.add("rb-book");
        const number = make("span", { class: "rb-number" }, moveNumber(game, positions, i + 1));
        const isSecond = positions[i].turn === 1;
        if (isSecond && rows.length) rows.at(-1).append(move);
        else rows.push(make("li", {}, number, ...(isSecond ? [make("span")] : []), move));
      });
      list.replaceChildren(...rows);
    }

    function fillCopies() {
      const kinds = { chess: ["FEN", "PGN"], shogi: ["SFEN", "CSA"], go: ["position", "SGF"] };
      const [positionKind, recordKind] = kinds[game.game];
      if (!positions.length) return;
      copies.replaceChildren(
        copyButton(`Copy ${positionKind}`, () => positions[ply].text),
        copyButton(`Copy ${recordKind}`, () => recordText(game, positions)),
      );
    }

    function copyButton(label, text) {
      const made = make("button", { type: "button", class: "rb-copy" }, label);
      made.addEventListener("click", async () => {
        const isDone = await page.toClipboard(text());
        made.textContent = isDone ? "Copied" : "Could not copy";
        live.textContent = made.textContent;
        setTimeout(() => (made.textContent = label), 1500);
      });
      return made;
    }

    function show(isSpoken = true) {
      const position = positions[ply];
      if (!position) {
        frame.hidden = controls.hidden = slider.hidden = true;
        top.row.hidden = bottom.row.hidden = true;
        return;
      }
      board.show(position, isFlipped);
      graph.show(ply);
      slider.value = String(ply);
      showPlayer(bottom, isFlipped ? 1 : 0, position);
      showPlayer(top, isFlipped ? 0 : 1, position);
      showMove();
      const words = ply ? `${moveNumber(game, positions, ply)} ${position.spoken}` : "Start position";
      const score = ply ? scoreWords(game, ply - 1) : "";
      slider.setAttribute("aria-valuetext", ply ? `${ply} of ${positions.length - 1}: ${position.label}` : words);
      frame.setAttribute("aria-label", positionText(game, position));
      if (isSpoken) live.textContent = words + (score && `, ${score}`);
    }

    function showPlayer(place, side, position) {
      const { row, name, taken, clock } = place;
      const colour = SIDES[game.game][side];
      row.classList.toggle("rb-to-move", position.turn === side);
      row.classList.toggle("rb-winner", game.winner === side);
      name.replaceChildren(
        make("span", { class: `rb-dot rb-dot-${colour.toLowerCase()}`, role: "img", "aria-label": colour }),
        game.players[side],
      );
      name.title = game.names?.[side] ?? "";
      showTaken(taken, side, position);
      clock.textContent = clockOf(side);
      clock.title = game.time_control?.[side] ?? game.time_control?.[0] ?? "";
    }

    // Return the time left, or the time used where no clock is known.
    function clockOf(side) {
      let used = 0;
      let isKnown = false;
      for (let i = ply - 1; i >= 0; i--) {
        if (positions[i].turn !== side) continue;
        if (game.clocks?.[i] != null) return clockText(game.clocks[i]);
        if (game.ms?.[i] != null) {
          used += game.ms[i];
          isKnown = true;
        }
      }
      return isKnown ? `used ${clockText(used)}` : "";
    }

    function showTaken(place, side, position) {
      const taken = position.taken?.[side];
      place.hidden = game.game === "shogi";
      if (game.game === "go") {
        place.textContent = taken ? `${taken} captured` : "";
        place.removeAttribute("role");
      }
      if (game.game !== "chess") return;
      const order = ["king", "queen", "rook", "bishop", "knight", "pawn"];
      const sorted = [...taken].sort((a, b) => order.indexOf(a.role) - order.indexOf(b.role));
      place.hidden = !sorted.length;
      const names = counted(sorted.map((piece) => piece.role));
      place.setAttribute("aria-label", `${position.inHand ? "In hand" : "Taken"}: ${names}`);
      place.replaceChildren(
        ...sorted.map(({ role, color }) => make("piece", { class: `${role} ${color}` })),
      );
    }

    function showMove() {
      const previous = list.querySelector("[aria-current]");
      previous?.removeAttribute("aria-current");
      for (const move of list.querySelectorAll("[tabindex='0']")) move.tabIndex = -1;
      const current = moveButtons[ply - 1];
      if (moveButtons.length) (current ?? moveButtons[0]).tabIndex = 0;
      if (current) {
        current.setAttribute("aria-current", "true");
        const row = current.closest("li");
        const hidden = row.offsetTop < list.scrollTop || row.offsetTop + row.offsetHeight > list.scrollTop + list.clientHeight;
        if (hidden) list.scrollTop = row.offsetTop - list.clientHeight / 2;
      } else list.scrollTop = 0;
      const at = ply - 1;
      const facts = ply
        ? [
            `${moveNumber(game, positions, ply)} ${positions[ply].label}`,
            at < (game.book ?? 0) ? "from the opening book" : "",
            scoreWords(game, at),
            game.depths?.[at] == null ? "" : `depth ${game.depths[at]}`,
            game.ms?.[at] == null || at < (game.book ?? 0) ? "" : secondsText(game.ms[at]),
          ]
        : ["Start position"];
      const comment = (game.comments ?? []).find(([index]) => index === at);
      info.replaceChildren(facts.filter(Boolean).join(" · "));
      if (comment) info.append(make("span", { class: "rb-comment" }, comment[1]));
    }

    return {
      goto: step,
      focus: () => root.focus({ preventScroll: true }),
      update(next) {
        if (JSON.stringify(next) === JSON.stringify(game)) return;
        // the buttons of the moves are made anew
        if (list.contains(document.activeElement)) root.focus({ preventScroll: true });
        const isAtEnd = ply >= positions.length - 1;
        take(next);
        ply = Math.min(isAtEnd ? Infinity : ply, Math.max(positions.length - 1, 0));
        show(isAtEnd);
      },
      destroy() {
        stop();
        scope.removeEventListener("keydown", onKey);
        board?.destroy();
        root.remove();
      },
    };
  }

  globalThis.ringmasterBoards = { mount };
})();

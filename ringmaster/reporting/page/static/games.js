// The table of games, and the dialog with a board.
"use strict";
(() => {
  const { el, number } = page;
  const STEP = 50;
  const state = { column: 0, direction: -1, filter: "", shown: STEP };
  const COLUMNS = [
    ["No.", (game) => game.number, true],
    ["players", (game) => game.players.join(" – ")],
    ["result", (game) => game.result],
    ["why", (game) => game.why],
    ["plies", (game) => game.plies, true],
    ["seconds", (game) => game.seconds, true],
    ["opening", (game) => game.opening ?? ""],
  ];
  const collator = new Intl.Collator("en", { numeric: true });
  let games = [], rows = [], table = null, body = null, note = null, more = null;
  let opened = null, handle = null;

  page.showGames = (parts) => {
    const section = document.getElementById("games");
    games = parts.games;
    games.forEach((game) => { game.line = COLUMNS.map(([, value]) => value(game)).join(" ").toLowerCase(); });
    section.hidden = !games.length;
    if (!body) build(section);
    note.textContent = parts.games_note;
    note.hidden = !parts.games_note;
    table.classList.toggle("no-opening", games.every((game) => !game.opening));
    refresh();
  };

  function build(section) {
    note = el("p", { class: "note" });
    const input = el("input", { type: "search", placeholder: "Filter", "aria-label": "Filter the games" });
    const faults = el("input", { type: "checkbox", id: "faults" });
    const count = el("span", { class: "count", role: "status", id: "games-count" });
    input.addEventListener("input", () => { state.filter = input.value; state.shown = STEP; refresh(); });
    faults.addEventListener("change", () => { state.faults = faults.checked; refresh(); });
    const copy = el("button", { type: "button", class: "quiet" }, "Copy CSV");
    copy.addEventListener("click", () => page.copy(page.csv([COLUMNS.map(([name]) => name), ...rows.map((game) => COLUMNS.map(([, value]) => value(game)))]), copy));
    const header = el("tr", {}, ...COLUMNS.map(([name, , right]) => el("th", { scope: "col", class: right ? "right" : null }, name)));
    body = el("tbody");
    table = el("table", { class: "games", "aria-labelledby": "games-title" }, el("thead", {}, header), body);
    page.sortableHeader(header, (column, direction) => { Object.assign(state, { column, direction }); refresh(); }, state);
    more = el("button", { type: "button", class: "quiet" });
    more.addEventListener("click", () => { state.shown += 10 * STEP; refresh(); });
    section.append(note, el("div", { class: "tools" }, input, el("label", { for: "faults" }, faults, " faults only"), count, copy),
      el("div", { class: "scroll" }, table), more);
    body.addEventListener("click", (event) => {
      const row = event.target.closest("tr");
      if (row && !getSelection().toString()) open(rows[Number(row.dataset.index)]);
    });
  }

  function refresh() {
    const words = state.filter.toLowerCase().split(/\s+/).filter(Boolean);
    rows = games.filter((game) => words.every((word) => game.line.includes(word)) && (!state.faults || game.fault));
    const [, value, numeric] = COLUMNS[state.column];
    rows.sort((a, b) => state.direction * (numeric ? value(a) - value(b) : collator.compare(value(a), value(b))) || b.number - a.number);
    const shown = rows.slice(0, state.shown);
    body.replaceChildren(...shown.map((game, index) => {
      const cells = COLUMNS.map(([, get, right], column) => {
        const text = column === 0 ? null : column === 5 ? game.seconds.toFixed(1) : String(get(game));
        const content = column === 0 ? el("button", { type: "button", class: "link", "aria-label": `Show game ${game.number}` }, String(game.number)) : text;
        return el("td", { class: right ? "right" : null }, content);
      });
      return el("tr", { "data-index": index, class: game.fault ? "fault" : null }, ...cells);
    }));
    document.getElementById("games-count").textContent =
      rows.length === games.length ? "" : `${number(rows.length)} of ${number(games.length)} games`;
    more.hidden = rows.length <= state.shown;
    more.textContent = `Show more (${number(rows.length - shown.length)} left)`;
  }

  // dialog

  async function open(game) {
    const dialog = document.getElementById("game");
    opened = game;
    handle?.destroy?.();
    handle = null;
    const place = el("div", { class: "board" });
    const index = rows.indexOf(game);
    const step = (move, label, text) => {
      const button = el("button", { type: "button", class: "quiet", "aria-label": label }, text);
      button.disabled = !rows[index + move];
      button.addEventListener("click", () => open(rows[index + move]));
      return button;
    };
    const close = el("button", { type: "button", class: "quiet" }, "Close");
    close.addEventListener("click", () => dialog.close());
    dialog.replaceChildren(
      el("div", { class: "head" }, el("h3", { id: "game-title" }, `Game ${game.number}: ${game.players.join(" – ")} ${game.result}`),
        step(-1, "Game above in the table", "↑"), step(1, "Game below in the table", "↓"), close),
      el("p", { class: "note" }, `${game.plies} ${game.plies === 1 ? "ply" : "plies"} in ${game.seconds.toFixed(1)} s`),
      place);
    if (!dialog.open) dialog.showModal();
    let board = game.board ?? null;
    if (!board && page.isLive) {
      try {
        const answer = await fetch(`games/${game.number}`);
        board = answer.ok ? await answer.json() : null;
      } catch { /* the server has ended: without a board */ }
      if (opened !== game) return;
    }
    if (board && window.ringmasterBoards) handle = window.ringmasterBoards.mount(place, board);
    else if (board) place.append(el("p", { class: "moves" }, board.moves || "no moves"));
    else {
      const about = [game.why, game.detail, game.opening && `opening ${game.opening}`].filter(Boolean).join(" · ");
      place.append(el("p", {}, about), el("p", { class: "note" }, "This page has no record of its moves."));
    }
  }

  document.getElementById("game").addEventListener("close", () => { handle?.destroy?.(); handle = null; opened = null; });
  document.getElementById("game").addEventListener("click", (event) => { if (event.target.id === "game") event.target.close(); });
})();

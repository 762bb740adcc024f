// The live page: boards of games in progress, the state of the connection, control of the run.
(() => {
  "use strict";
  const boards = new Map();

  function showGames(games) {
    const box = document.getElementById("in-progress-boards");
    const present = new Set(games.map((game) => game.id));
    for (const [id, board] of boards) {
      if (!present.has(id)) {
        board.handle.destroy();
        board.card.remove();
        boards.delete(id);
      }
    }
    for (const game of games) {
      const known = boards.get(game.id);
      if (known) {
        known.handle.update(game);
        continue;
      }
      const card = document.createElement("div");
      box.append(card);
      boards.set(game.id, { card, handle: window.ringmasterBoards.mount(card, game) });
    }
    document.getElementById("in-progress").hidden = games.length === 0;
  }

  function say(text) {
    document.getElementById("live-state").textContent = text;
  }

  const source = new EventSource("events");
  source.onopen = () => say("");
  source.onerror = () => say("Not connected: the server has ended, or is away. The page shows the last results.");
  source.onmessage = (message) => {
    const parts = JSON.parse(message.data);
    if (parts.live) showGames(parts.live);
    if (parts.error !== undefined) say(parts.error);
    window.ringmaster.update(parts);
  };

  const control = document.getElementById("control");
  if (control) {
    control.addEventListener("click", async (event) => {
      const command = event.target.dataset.command;
      if (!command) return;
      const answer = await fetch("control", {
        method: "POST",
        body: command,
        headers: { "X-Ringmaster": "1" },
      });
      document.getElementById("control-answer").textContent = (await answer.text()).trim();
    });
  }
})();

// Tables: sorting by a click on a header, filtering by text, copying as CSV.
"use strict";
(() => {
  const { el } = page;
  const collator = new Intl.Collator("en", { numeric: true });
  // by key of a table: sorted column and direction, filter
  const states = new Map();

  // Compare two cells' texts; empty ones are last in both directions.
  page.comparer = (texts) => {
    const present = texts.filter((text) => text !== "" && text !== "-" && text !== "–");
    const numeric = present.length > 0 && present.every((text) => !Number.isNaN(page.parse(text)));
    const value = numeric ? (text) => page.parse(text) : (text) => text;
    return (a, b, direction) => {
      const x = value(a), y = value(b);
      const missing = numeric ? Number.isNaN : (text) => text === "";
      if (missing(x) || missing(y)) return missing(x) - missing(y);
      return direction * (numeric ? (x > y) - (x < y) : collator.compare(x, y));
    };
  };

  // Make the headers buttons; `sort` receives the column and 1 or -1.
  page.sortableHeader = (header, sort, current) => {
    const cells = [...header.cells];
    cells.forEach((cell, column) => {
      if (!cell.textContent.trim()) return;
      const button = el("button", { type: "button", class: "sort" }, cell.textContent);
      cell.replaceChildren(button);
      button.addEventListener("click", () => {
        const direction = cell.getAttribute("aria-sort") === "ascending" ? -1 : 1;
        mark(column, direction);
        sort(column, direction);
      });
    });
    function mark(column, direction) {
      cells.forEach((cell) => cell.removeAttribute("aria-sort"));
      cells[column]?.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
    }
    if (current) mark(current.column, current.direction);
  };

  function enhance(box) {
    const table = box.querySelector("table");
    if (!table || !table.tHead || !table.tBodies[0]) return;
    const body = table.tBodies[0];
    const rows = [...body.rows];
    const texts = rows.map((row) => [...row.cells].map((cell) => cell.textContent.trim()));
    const order = new Map(rows.map((row, index) => [row, index]));
    const key = box.dataset.key;
    const state = states.get(key) ?? {};
    states.set(key, state);
    const header = table.tHead.rows[0];
    const names = [...header.cells].map((cell) => cell.textContent);

    function sort(column, direction) {
      Object.assign(state, { column, direction });
      const compare = page.comparer(texts.map((row) => row[column] ?? ""));
      const sorted = [...rows].sort((a, b) =>
        compare(texts[order.get(a)][column] ?? "", texts[order.get(b)][column] ?? "", direction) ||
        order.get(a) - order.get(b));
      body.append(...sorted);
    }
    function filter(text) {
      state.filter = text;
      const words = text.toLowerCase().split(/\s+/).filter(Boolean);
      let count = 0;
      rows.forEach((row, index) => {
        const line = texts[index].join(" ").toLowerCase();
        row.hidden = !words.every((word) => line.includes(word));
        count += !row.hidden;
      });
      if (counter) counter.textContent = words.length ? `${count} of ${rows.length} rows` : "";
    }
    let counter = null;
    if (rows.length > 1) page.sortableHeader(header, sort, state.column === undefined ? null : state);
    const tools = el("div", { class: "tools" });
    if (rows.length > 8) {
      counter = el("span", { class: "count", role: "status" });
      const input = el("input", { type: "search", placeholder: "Filter", "aria-label": "Filter the rows" });
      input.value = state.filter ?? "";
      input.addEventListener("input", () => filter(input.value));
      tools.append(input, counter);
    }
    const copy = el("button", { type: "button", class: "quiet", title: "Copy this table" }, "Copy CSV");
    copy.addEventListener("click", () => {
      const shown = [...body.rows].filter((row) => !row.hidden);
      page.copy(page.csv([names, ...shown.map((row) => texts[order.get(row)])]), copy);
    });
    tools.append(copy);
    box.prepend(tools);
    if (state.column !== undefined) sort(state.column, state.direction);
    if (state.filter) filter(state.filter);
  }

  page.enhanceTables = (root) => {
    root.querySelectorAll(".table").forEach(enhance);
    // the keyboard scrolls wide tables without sorting too
    for (const scroll of root.querySelectorAll(".table .scroll")) if (!scroll.querySelector("button")) scroll.tabIndex = 0;
  };
})();

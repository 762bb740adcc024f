// Puts the page together: theme, contents, groups of charts, and updates of a live page.
"use strict";
(() => {
  const { el } = page;
  const data = JSON.parse(document.getElementById("data").textContent);
  page.isLive = Boolean(data.events);
  const parts = data.parts;
  const DRAW = {
    chart: [page.drawChart, page.chartRows],
    comparison: [page.drawComparison, page.comparisonRows],
    bars: [page.drawBars, page.barsRows],
    heatmap: [page.drawHeatMap, page.heatRows],
    tree: [page.drawTree, page.treeRows],
  };
  const WIDE = new Set(["comparison", "tree"]);
  // by key of a group: its data as text, its element, redrawing, and the charts' views
  const groups = new Map();

  // charts

  function showCharts(list) {
    const place = document.getElementById("charts");
    const keys = new Set(list.map((group) => group.key));
    for (const [key, group] of groups) if (!keys.has(key)) { group.element.remove(); groups.delete(key); }
    list.forEach((group, index) => {
      const text = JSON.stringify(group);
      let known = groups.get(group.key);
      if (!known || known.text !== text) {
        const views = known?.views ?? {};
        const made = drawGroup(group, views);
        if (known) known.element.replaceWith(made.element);
        known = { text, views, ...made };
        groups.set(group.key, known);
      }
      if (place.children[index] !== known.element) place.insertBefore(known.element, place.children[index] ?? null);
    });
    showContents(list);
  }

  // Charts of which several stand side by side; `isCompact` charts take half the width.
  const isSmall = (chart) => chart.kind === "bars" && chart.names.length * chart.series.length <= 6;
  const isCompact = (chart) => (chart.kind === "bars" && chart.names.length <= 14) || (chart.kind === "heatmap" && heatWidth(chart) < 480);
  const heatWidth = (chart) => Math.max(...chart.y_names.map((name) => 7 * name.length))
    + chart.x_names.reduce((sum, name) => sum + Math.max(60, 7 * name.length + 14), 0);

  function drawGroup(group, views) {
    const title = `title-${group.key}`;
    const wide = group.charts.length === 1 || group.charts.some((chart) => WIDE.has(chart.kind));
    const size = wide ? "whole" : group.charts.every(isSmall) ? "tiny" : group.charts.length === 2 || group.charts.length === 4 ? "half" : "many";
    const compact = group.charts.length === 1 && isCompact(group.charts[0]);
    const redraws = [];
    const figures = group.charts.map((chart, index) => {
      const view = (views[`${index} ${chart.title}`] ??= {});
      const figure = el("figure", { class: chart.kind });
      const ownTitle = chart.title === group.title ? "" : chart.title;
      if (ownTitle || chart.note) {
        figure.append(el("figcaption", {}, ownTitle ? el("strong", {}, ownTitle) : null, ...(chart.note ? [el("span", {}, chart.note)] : [])));
      }
      const [draw, rows] = DRAW[chart.kind];
      const redraw = draw(figure, chart, size, view);
      if (redraw) redraws.push(redraw);
      figure.append(dataTable(chart, rows, view));
      return figure;
    });
    const element = el("section", { id: group.key, class: compact ? "compact" : null, "aria-labelledby": title },
      el("h2", { id: title }, group.title), group.text ? el("p", { class: "how" }, group.text) : null,
      page.legend(group.charts), el("div", { class: `charts ${size}` }, ...figures));
    return { element, redraws };
  }

  // The values of a chart as a table, made when it is opened.
  function dataTable(chart, rows, view) {
    const details = el("details", { class: "data", open: view.data }, el("summary", {}, "Values"));
    const fill = () => {
      view.data = details.open;
      if (!details.open || details.querySelector("table")) return;
      const [head, ...body] = rows(chart);
      const copy = el("button", { type: "button", class: "quiet" }, "Copy CSV");
      copy.addEventListener("click", () => page.copy(page.csv([head, ...body]), copy));
      const text = (value) => (typeof value === "number" ? page.number(value) : value ?? "");
      const shown = body.slice(0, 500);
      const table = el("table", { "aria-label": `Values of ${chart.title || "the chart"}` },
        el("thead", {}, el("tr", {}, ...head.map((name) => el("th", { scope: "col" }, name)))),
        el("tbody", {}, ...shown.map((row) => el("tr", {}, ...row.map((value) => el("td", { class: typeof value === "number" ? "right" : null }, text(value)))))));
      details.append(copy, el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Values" }, table));
      if (shown.length < body.length) details.append(el("p", { class: "note" }, `The first ${shown.length} of ${page.number(body.length)} rows; copying takes all.`));
    };
    details.addEventListener("toggle", fill);
    if (view.data) fill();
    return details;
  }

  function showContents(list) {
    const sections = [...list.map((group) => [group.key, group.title]), ["tables", "Tables"], ["games", "Games"], ["conditions", "Conditions"]]
      .filter(([key]) => !document.getElementById(key)?.hidden);
    const links = sections.map(([key, title]) => el("a", { href: `#${key}` }, title));
    document.getElementById("contents").replaceChildren(...links);
  }

  // texts and tables

  function showFacts(facts) {
    document.getElementById("facts").replaceChildren(...facts.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
  }

  function showCopies(copies) {
    const place = document.getElementById("copies");
    place.hidden = !copies.length;
    const button = (copy) => {
      const made = el("button", { type: "button", title: copy.command ? `ringmaster … ${copy.command}` : null }, copy.name);
      made.addEventListener("click", () => page.copy(copy.text, made));
      return made;
    };
    // both have a format "openbench"
    const isResult = (copy) => copy.command.startsWith("show ");
    const kinds = [["Copy the result as", copies.filter(isResult)], ["Copy the values as", copies.filter((copy) => !isResult(copy))]];
    place.replaceChildren(...kinds.filter(([, some]) => some.length).map(([label, some]) => el("p", {}, el("span", {}, label), ...some.map(button))));
  }

  // The markup comes from this program's templates, which escape all foreign text.
  function showTables(id, markup) {
    const place = document.getElementById(id);
    place.innerHTML = markup;
    page.enhanceTables(place);
  }

  function setText(id, text) {
    const element = document.getElementById(id);
    if (element && text !== undefined && element.textContent !== text) element.textContent = text;
  }

  // A verdict, its numbers on one line with their units.
  function showVerdict(id, text) {
    const pieces = text.split(/((?:\S+ ± )?\S+ (?:%|Elo|games?)(?!\p{L})\S*)/u);
    document.getElementById(id).replaceChildren(...pieces.map((piece, i) => (i % 2 ? el("span", { class: "unit" }, piece) : piece)));
  }

  function apply(fresh) {
    Object.assign(parts, fresh);
    if (fresh.verdict !== undefined) {
      if (fresh.verdict) showVerdict("verdict", fresh.verdict);
      showVerdict("verdict-end", fresh.verdict);
    }
    setText("state", fresh.state);
    setText("generated", fresh.generated);
    if (fresh.facts) showFacts(fresh.facts);
    if (fresh.main !== undefined) showTables("main", fresh.main);
    if (fresh.conditions !== undefined) showTables("conditions-body", fresh.conditions);
    if (fresh.copies) showCopies(fresh.copies);
    if (fresh.games) page.showGames({ games_note: "", ...parts });
    if (fresh.charts) showCharts(fresh.charts);
    else if (fresh.games) showContents(parts.charts);
  }

  // theme

  const THEMES = { "": "Light or dark: as the system", light: "Light", dark: "Dark" };
  let theme = "";
  try { theme = localStorage.getItem("ringmaster-theme") ?? ""; } catch { /* no storage for files in some browsers */ }
  function setTheme(name) {
    theme = name in THEMES ? name : "";
    if (theme) document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
    const button = document.getElementById("theme");
    button.textContent = { "": "◐", light: "☀", dark: "☾" }[theme];
    button.title = THEMES[theme];
    button.setAttribute("aria-label", `Colours: ${THEMES[theme]}`);
    redraw();
  }
  function redraw() {
    page.forgetColours();
    for (const group of groups.values()) group.redraws.forEach((again) => again());
  }
  document.getElementById("theme").hidden = false;
  document.getElementById("theme").addEventListener("click", () => {
    const names = Object.keys(THEMES);
    setTheme(names[(names.indexOf(theme) + 1) % names.length]);
    try { localStorage.setItem("ringmaster-theme", theme); } catch { /* see above */ }
  });
  for (const query of ["(prefers-color-scheme: dark)", "print"]) matchMedia(query).addEventListener("change", redraw);

  window.ringmaster = {
    // Replace parts of the page; `fresh` has those that have changed.
    update(fresh) { apply(fresh); },
  };
  // the document has the texts and tables already
  page.enhanceTables(document);
  for (const id of ["verdict", "verdict-end"]) showVerdict(id, document.getElementById(id).textContent);
  showCopies(parts.copies);
  page.showGames(parts);
  showCharts(parts.charts);
  setTheme(theme);
})();

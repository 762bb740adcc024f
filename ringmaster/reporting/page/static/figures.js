// Figures of elements: comparisons (forest plots), bars, heat maps and trees.
"use strict";
(() => {
  const { el, svg, number } = page;

  // Return round ticks from low to high; with `least` 1, whole ones.
  function roundTicks(low, high, most = 6, least = 0) {
    const span = high - low || 1;
    const raw = Math.max(span / most, least);
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((value) => value >= raw - 1e-12 * power && (!least || Number.isInteger(value)));
    const values = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * span; i++) values.push(Number((i * step).toPrecision(12)));
    return values;
  }

  // comparison

  page.drawComparison = (box, chart) => {
    const known = chart.rows.flatMap((row) => [row.value, row.low, row.high]).filter((value) => value !== null);
    if (chart.mark !== null) known.push(chart.mark);
    let low = Math.min(...known), high = Math.max(...known);
    // a very wide interval must not hide the others
    const values = chart.rows.map((row) => row.value).filter((value) => value !== null);
    const spans = chart.rows.filter((row) => row.low !== null && row.high !== null).map((row) => row.high - row.low).sort((a, b) => a - b);
    if (values.length > 2 && spans.length) {
      const reach = 2.5 * (Math.max(...values) - Math.min(...values) + spans[spans.length >> 1]);
      low = Math.max(low, Math.min(...values, chart.mark ?? Infinity) - reach);
      high = Math.min(high, Math.max(...values, chart.mark ?? -Infinity) + reach);
    }
    const pad = 0.04 * (high - low) || 1;
    low -= pad;
    high += pad;
    const place = (value) => Math.max(0, Math.min(100, (100 * (value - low)) / (high - low)));
    const body = el("tbody");
    for (const row of chart.rows) {
      const track = el("div", { class: "track", "aria-hidden": "true" });
      for (const value of roundTicks(low, high)) track.append(at("i", "line", place(value)));
      if (chart.mark !== null) track.append(at("i", "mark", place(chart.mark)));
      if (row.value !== null) {
        const left = row.low === null ? 0 : place(row.low), right = row.high === null ? 100 : place(row.high);
        const range = at("b", "range", left);
        range.style.width = `${right - left}%`;
        if (row.low === null || row.low < low) range.classList.add("open-left");
        if (row.high === null || row.high > high) range.classList.add("open-right");
        track.append(range, at("b", "dot", place(row.value)));
      }
      const range = `${row.low === null ? "−∞" : number(row.low, 4)} … ${row.high === null ? "∞" : number(row.high, 4)}`;
      track.dataset.tip = `${row.name}: ${number(row.value, 4)}\n95 %: ${range}`;
      body.append(el("tr", {}, el("th", { scope: "row" }, row.name), el("td", { class: "wide" }, track),
        el("td", { class: "text" }, (row.text || `${number(row.value, 4)} (${range})`).replaceAll(" %", "\u00a0%"))));
    }
    const ticks = el("div", { class: "ticks", "aria-hidden": "true" });
    for (const value of roundTicks(low, high)) {
      const tick = at("span", "", place(value));
      tick.textContent = number(value);
      ticks.append(tick);
    }
    const foot = el("tfoot", { "aria-hidden": "true" }, el("tr", {}, el("td"), el("td", { class: "wide" }, ticks, el("div", { class: "axis" }, chart.x_label)), el("td")));
    const label = [chart.title, chart.x_label].filter(Boolean).join(", ") || "Comparison";
    box.append(el("table", { class: "forest", "aria-label": label }, body, foot));
  };
  function at(name, kind, left) {
    const element = el(name, { class: kind });
    element.style.left = `${left}%`;
    return element;
  }
  page.comparisonRows = (chart) => [["name", chart.x_label || "value", "low", "high", "text"],
    ...chart.rows.map((row) => [row.name, row.value, row.low, row.high, row.text])];

  // bars

  // pixels of a bar
  const WIDEST = 44;

  page.drawBars = (box, chart, size) => {
    const longest = Math.max(0, ...chart.names.map((name) => name.length));
    const upright = longest <= 12 && chart.names.length <= 40;
    const frame = el("div", { class: "bars", role: "img", "aria-label": barsLabel(chart) });
    box.append(frame);
    if (!upright) { lyingBars(frame, chart); return; }
    let width = 0;
    const render = () => {
      if (frame.clientWidth && frame.clientWidth !== width) {
        width = frame.clientWidth;
        frame.replaceChildren();
        // every name of a group is needed, but not every step of an axis
        if (!chart.x_label && longest * 6.6 + 8 > (width - 60) / chart.names.length) lyingBars(frame, chart);
        else frame.append(uprightBars(chart, width, size === "whole" ? 230 : 190));
      }
    };
    new ResizeObserver(render).observe(frame);
  };
  const barsLabel = (chart) => [chart.title, chart.note, `Bars of ${chart.series.map((one) => one.name).filter(Boolean).join(", ") || "values"}`,
    chart.y_label].filter(Boolean).join(". ");
  const sumOf = (chart, i, sign) => chart.series.reduce((sum, one) => sum + Math.max(0, sign * (one.values[i] ?? 0)), 0);
  function extent(chart) {
    let low = 0, high = 0;
    chart.names.forEach((name, i) => {
      if (chart.stacked) { high = Math.max(high, sumOf(chart, i, 1)); low = Math.min(low, -sumOf(chart, i, -1)); }
      else for (const one of chart.series) { const value = one.values[i] ?? 0; low = Math.min(low, value); high = Math.max(high, value); }
    });
    return low === high ? [0, 1] : [low, high];
  }
  // Yield [series, index of its bar, from, to] of a name.
  function segments(chart, i) {
    let up = 0, down = 0;
    return chart.series.map((one, k) => {
      const value = one.values[i];
      if (value === null || value === undefined) return null;
      if (!chart.stacked) return [one, k, 0, value];
      const from = value >= 0 ? up : down;
      if (value >= 0) up += value; else down += value;
      return [one, 0, from, from + value];
    }).filter(Boolean);
  }
  const tipOf = (chart, one, i) => {
    const total = chart.stacked && chart.series.length > 1 ? sumOf(chart, i, 1) : 0;
    const share = total > 0 ? ` (${page.percent(one.values[i] / total)})` : "";
    return `${chart.names[i]}${chart.x_label ? ` (${chart.x_label})` : ""}\n${one.name ? `${one.name}: ` : ""}${number(one.values[i])}${chart.y_label ? ` ${chart.y_label}` : ""}${share}`;
  };
  // Few bars take less than the width.
  function uprightBars(chart, most, height) {
    const [low, high] = extent(chart);
    // counts have whole ticks
    const counts = chart.series.every((one) => one.values.every((value) => value === null || Number.isInteger(value)));
    const ticks = roundTicks(low, high, 5, counts ? 1 : 0);
    const left = 14 + 7 * Math.max(...ticks.map((value) => number(value).length)) + (chart.y_label ? 16 : 0);
    const bottom = 20 + (chart.x_label ? 18 : 0), top = 8, right = 4;
    const Y = (value) => top + ((high - value) / (high - low)) * (height - top - bottom);
    const across = chart.stacked ? 1 : chart.series.length;
    const nameWidth = Math.max(...chart.names.map((name) => name.length)) * 6.6 + 8;
    const slot = Math.min((most - left - right) / chart.names.length, Math.max((WIDEST / 0.7) * across, nameWidth));
    const width = left + right + slot * chart.names.length;
    const picture = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
    for (const value of ticks) {
      picture.append(svg("path", { d: `M${left} ${Y(value)}H${width - right}`, class: value === 0 ? "zero" : "grid" }),
        svg("text", { x: left - 6, y: Y(value) + 4, "text-anchor": "end" }, number(value)));
    }
    const every = Math.max(1, Math.ceil(nameWidth / slot - 0.01));
    chart.names.forEach((name, i) => {
      const wide = Math.min((0.8 * slot) / across, WIDEST), start = left + (i + 0.5) * slot - (wide * across) / 2;
      for (const [one, k, from, to] of segments(chart, i)) {
        const y = Math.min(Y(from), Y(to));
        picture.append(svg("rect", {
          x: start + k * wide, y, width: Math.max(1, wide - (across > 1 ? 1 : 0)), height: Math.max(0, Math.abs(Y(from) - Y(to))),
          fill: `var(--${one.role})`, "data-tip": tipOf(chart, one, i),
        }));
      }
      if (i % every === 0) picture.append(svg("text", { x: left + (i + 0.5) * slot, y: height - bottom + 15, "text-anchor": "middle" }, name));
    });
    if (chart.x_label) picture.append(svg("text", { x: (left + width) / 2, y: height - 4, "text-anchor": "middle", class: "axis" }, chart.x_label));
    if (chart.y_label) {
      const middle = (top + height - bottom) / 2;
      picture.append(svg("text", { x: 10, y: middle, "text-anchor": "middle", class: "axis", transform: `rotate(-90 10 ${middle})` }, chart.y_label));
    }
    return picture;
  }
  function lyingBars(frame, chart) {
    const [low, high] = extent(chart);
    const place = (value) => (100 * (value - low)) / (high - low);
    const across = chart.stacked ? 1 : chart.series.length;
    const grid = el("div", { class: "lying", "aria-hidden": "true" });
    chart.names.forEach((name, i) => {
      const track = el("div", { class: "track" });
      track.style.height = `${Math.max(16, 9 * across)}px`;
      for (const [one, k, from, to] of segments(chart, i)) {
        const bar = at("b", "bar", place(Math.min(from, to)));
        bar.style.width = `${Math.abs(place(to) - place(from))}%`;
        bar.style.top = `${(100 * k) / across}%`;
        bar.style.height = `${100 / across}%`;
        bar.style.background = `var(--${one.role})`;
        bar.dataset.tip = tipOf(chart, one, i);
        track.append(bar);
      }
      const values = chart.series.map((one) => one.values[i]);
      const text = (value) => (value === null ? "unknown" : number(value, Number.isInteger(value) ? 9 : 3));
      const total = !chart.stacked ? values.map(text).join(" / ")
        : text(values.every((value) => value === null) ? null : sumOf(chart, i, 1) - sumOf(chart, i, -1));
      grid.append(el("span", { class: "name" }, name), track, el("span", { class: "value" }, total));
    });
    const label = [chart.x_label, chart.y_label].filter(Boolean).join(", ");
    frame.append(grid, ...(label ? [el("div", { class: "axis" }, label)] : []));
  }
  page.barsRows = (chart) => [[chart.x_label || "name", ...chart.series.map((one) => one.name || chart.y_label || "value")],
    ...chart.names.map((name, i) => [name, ...chart.series.map((one) => one.values[i])])];

  // heat map

  page.drawHeatMap = (box, chart) => {
    const known = chart.values.flat().filter((value) => value !== null);
    const low = Math.min(...known), high = Math.max(...known);
    const diverging = low < 0 && high > 0;
    const reach = Math.max(Math.abs(low), Math.abs(high)) || 1;
    const digits = chart.x_names.length > 8 ? 2 : 3;
    const withText = chart.x_names.length <= 14;
    // scores such as "6-0" say more than their numbers
    const texts = chart.texts.flat();
    const brief = texts.length > 0 && texts.every((text) => text.length <= 11);
    const label = [chart.title, chart.note, chart.value_label].filter(Boolean).join(". ");
    const turned = !withText && Math.max(...chart.x_names.map((name) => name.length)) > 3 ? " turned" : "";
    const table = el("table", { class: withText ? "heat" : `heat small${turned}`, "aria-label": label });
    const shades = [];
    const head = el("tr", {}, chart.y_label ? el("th", { scope: "col" }, chart.y_label) : el("td", { class: "corner" }), ...chart.x_names.map((name) => el("th", { scope: "col" }, name)));
    if (chart.x_label) table.append(el("caption", { class: "axis" }, chart.x_label));
    table.append(el("thead", {}, head));
    const body = el("tbody");
    // the first row of data is the bottom one
    for (let y = chart.values.length - 1; y >= 0; y--) {
      const row = el("tr", {}, el("th", { scope: "row" }, chart.y_names[y] ?? ""));
      chart.values[y].forEach((value, x) => {
        const text = chart.texts[y]?.[x] ?? "";
        const cell = el("td", {}, !withText || value === null ? "" : brief ? text : number(value, digits));
        const known = value === null ? "unknown" : `${chart.value_label}: ${number(value)}`;
        const lines = [[chart.x_names[x], chart.y_names[y]].filter(Boolean).join(" × "), brief || !text ? known : "", text];
        cell.dataset.tip = lines.filter(Boolean).join("\n");
        if (value === null) cell.classList.add("none");
        else {
          const share = diverging ? Math.abs(value) / reach : high > low ? (value - low) / (high - low) : 0.5;
          const negative = diverging && value < 0;
          shades.push([cell, Math.round(8 + 84 * share) / 100, negative ? "average" : "main"]);
          cell.style.setProperty("--t", `${Math.round(8 + 84 * share)}%`);
          if (negative) cell.classList.add("negative");
        }
        row.append(cell);
      });
      body.append(row);
    }
    table.append(body);
    const scale = el("div", { class: diverging ? "scale both" : "scale", "aria-hidden": "true" },
      number(diverging ? -reach : low, 3), el("i"), number(diverging ? reach : high, 3), el("span", {}, chart.value_label));
    box.append(el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label || "Heat map" }, table), ...(known.length ? [scale] : []));
    const letters = () => { for (const [cell, share, role] of shades) cell.style.color = lettersOn(role, share); };
    letters();
    return letters;
  };
  // Black or white, whichever is legible on a share of a colour mixed with the paper.
  function lettersOn(role, share) {
    const [ink, paper] = [role, "paper"].map((name) => page.colour(name).match(/[\d.]+/g).map(Number));
    const light = [0.2126, 0.7152, 0.0722].reduce((sum, weight, i) => {
      const level = (share * ink[i] + (1 - share) * paper[i]) / 255;
      return sum + weight * (level <= 0.04045 ? level / 12.92 : ((level + 0.055) / 1.055) ** 2.4);
    }, 0);
    // both have a contrast of 4.6 at a luminance of 0.18
    return light > 0.1791 ? "#000" : "#fff";
  }
  page.heatRows = (chart) => [[`${chart.y_label} \\ ${chart.x_label}`, ...chart.x_names],
    ...chart.values.map((row, y) => [chart.y_names[y], ...row]).reverse()];

  // tree

  page.drawTree = (box, chart, size, view) => {
    view.open ??= {};
    const node = (data, path, depth) => {
      const bar = el("span", { class: "share", "aria-hidden": "true" }, el("b"));
      bar.firstChild.style.width = `${100 * Math.min(1, data.share ?? 0)}%`;
      const label = [bar, el("span", { class: "name" }, data.name), el("span", { class: "text" }, `${page.percent(data.share ?? 0)}${data.text ? ` · ${data.text}` : ""}`)];
      if (!data.children.length) return el("li", {}, el("div", { class: "leaf" }, ...label));
      const details = el("details", { open: view.open[path] ?? depth < 1 }, el("summary", {}, ...label));
      const fill = () => {
        if (details.open && !details.querySelector("ul")) {
          details.append(el("ul", {}, ...data.children.map((child, i) => node(child, `${path}/${i}`, depth + 1))));
        }
      };
      details.addEventListener("toggle", () => { view.open[path] = details.open; fill(); });
      fill();
      return el("li", {}, details);
    };
    box.append(el("ul", { class: "tree" }, node(chart.root, "", 0)));
  };
  page.treeRows = (chart) => {
    const rows = [["depth", "node", "share of its parent's visits", "text"]];
    const visit = (data, depth) => { rows.push([depth, data.name, data.share, data.text]); data.children.forEach((child) => visit(child, depth + 1)); };
    visit(chart.root, 0);
    return rows;
  };
})();

// Charts with two axes, drawn on uPlot's canvas: lines, bands, whiskers, levels, intervals.
"use strict";
(() => {
  const { el, number } = page;
  const HEIGHTS = { whole: 320, half: 250, many: 200 };
  // how far intervals may widen the range of y: this share of it, or half of the whiskers as a whole
  const WIDEN = 0.6;

  const isSeries = (piece) => piece.columns !== undefined;
  const finite = (values) => values.filter((value) => value !== null && value !== undefined);

  // Return [low, high] of y between two values of x.
  function rangeOfY(chart, left, right) {
    let low = Infinity, high = -Infinity, wideLow = Infinity, wideHigh = -Infinity;
    const sides = [];
    const take = (y) => { if (y !== null && y !== undefined) { low = Math.min(low, y); high = Math.max(high, y); } };
    const widen = (y) => { if (y !== null && y !== undefined) { wideLow = Math.min(wideLow, y); wideHigh = Math.max(wideHigh, y); } };
    for (const piece of chart.pieces) {
      if (isSeries(piece)) {
        const [xs, ...ys] = piece.columns;
        const first = Math.max(0, nearest(xs, left) - 1), last = Math.min(xs.length - 1, nearest(xs, right) + 1);
        for (let i = first; i <= last; i++) {
          if (piece.kind === "series") take(ys[0][i]);
          else if (piece.kind === "band") { widen(ys[0][i]); widen(ys[1][i]); }
          else {
            take(ys[0][i]); widen(ys[1][i]); widen(ys[2][i]);
            if (ys[1][i] !== null && ys[2][i] !== null) sides.push(Math.max(ys[0][i] - ys[1][i], ys[2][i] - ys[0][i]));
          }
        }
      } else if (piece.kind === "level") take(piece.value);
      else if (piece.along === "y") { take(piece.value); widen(piece.low); widen(piece.high); }
    }
    if (low > high) [low, high] = wideLow <= wideHigh ? [wideLow, wideHigh] : [0, 1];
    const span = high - low || Math.abs(high) * 0.1 || 1;
    sides.sort((a, b) => a - b);
    const most = Math.max(WIDEN * span, sides[sides.length >> 1] ?? 0);
    if (wideLow < low) low = Math.max(wideLow, low - most);
    if (wideHigh > high) high = Math.min(wideHigh, high + most);
    const pad = 0.06 * (high - low) || 0.5 * span;
    return [low - pad, high + pad];
  }

  function allX(chart) {
    const xs = new Set();
    for (const piece of chart.pieces) {
      if (isSeries(piece)) piece.columns[0].forEach((x) => x !== null && xs.add(x));
      else if (piece.kind === "interval" && piece.along === "x") finite([piece.value]).forEach((x) => xs.add(x));
      else if (piece.kind === "level") finite([piece.first, piece.last]).forEach((x) => xs.add(x));
    }
    if (!xs.size) xs.add(0).add(1);
    if (xs.size === 1) { const [x] = xs; xs.add(x + 1); }
    return [...xs].sort((a, b) => a - b);
  }

  function nearest(xs, x) {
    let low = 0, high = xs.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (xs[middle] < x) low = middle + 1; else high = middle;
    }
    return low > 0 && x - xs[low - 1] < xs[low] - x ? low - 1 : low;
  }

  const isSorted = (xs) => xs.every((x, i) => i === 0 || xs[i - 1] <= x);

  // Return the text of a piece at a value of x, null without a point near it.
  function textAt(chart, piece, x, reach) {
    const name = (value) => chart.y_names[value] ?? number(value, 5);
    if (piece.kind === "level") return null;
    if (piece.kind === "interval") return null;
    const [xs, ...ys] = piece.columns;
    if (!xs.length) return null;
    let i = nearest(xs, x);
    if (!isSorted(xs)) i = xs.reduce((best, value, at) => (Math.abs(value - x) < Math.abs(xs[best] - x) ? at : best), 0);
    if (Math.abs(xs[i] - x) > reach && !(piece.kind !== "whiskers" && piece.joined !== false && x > xs[0] && x < xs.at(-1))) return null;
    if (piece.kind === "series") return `${piece.name}: ${name(ys[0][i])}`;
    const pair = piece.kind === "band" ? ys : ys.slice(1);
    const range = `${openEnd(pair[0][i], "−∞")} … ${openEnd(pair[1][i], "∞")}`;
    return piece.kind === "band" ? `${piece.name}: ${range}` : `${piece.name}: ${name(ys[0][i])} (${range})`;
  }
  const openEnd = (value, text) => (value === null ? text : number(value, 5));

  // Draw the pieces on a plot's canvas.
  function draw(u, chart) {
    const { ctx, bbox } = u;
    const ratio = devicePixelRatio || 1;
    const X = (x) => u.valToPos(x, "x", true), Y = (y) => u.valToPos(y, "y", true);
    const far = 1e5;
    const clampY = (y) => Math.max(-far, Math.min(far, y));
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    if (chart.bounds) {
      ctx.fillStyle = page.colour("outside");
      const [low, high] = chart.bounds.map((y) => (y === null ? null : clampY(Y(y))));
      if (high !== null && high > bbox.top) ctx.fillRect(bbox.left, bbox.top, bbox.width, high - bbox.top);
      if (low !== null && low < bbox.top + bbox.height) ctx.fillRect(bbox.left, low, bbox.width, bbox.top + bbox.height - low);
    }
    ctx.lineJoin = "round";
    let intervals = 0;
    for (const piece of chart.pieces) {
      const colour = page.colour(piece.role);
      ctx.strokeStyle = ctx.fillStyle = colour;
      ctx.globalAlpha = 1;
      ctx.setLineDash([]);
      ctx.lineWidth = 2 * ratio;
      if (piece.kind === "band") {
        const [xs, lows, highs] = piece.columns;
        ctx.globalAlpha = 0.2;
        ctx.beginPath();
        xs.forEach((x, i) => { const y = clampY(highs[i] === null ? -far : Y(highs[i])); if (i) ctx.lineTo(X(x), y); else ctx.moveTo(X(x), y); });
        for (let i = xs.length - 1; i >= 0; i--) ctx.lineTo(X(xs[i]), clampY(lows[i] === null ? far : Y(lows[i])));
        ctx.fill();
      } else if (piece.kind === "series") {
        const [xs, ys] = piece.columns;
        if (piece.joined) {
          ctx.beginPath();
          let open = false;
          xs.forEach((x, i) => {
            if (ys[i] === null || x === null) { open = false; return; }
            if (open) ctx.lineTo(X(x), clampY(Y(ys[i]))); else ctx.moveTo(X(x), clampY(Y(ys[i])));
            open = true;
          });
          ctx.stroke();
        }
        if (!piece.joined || xs.length === 1) dots(xs, ys, xs.length > 300 ? 1.8 : 3);
      } else if (piece.kind === "whiskers") {
        const [xs, ys, lows, highs] = piece.columns;
        ctx.lineWidth = 1.5 * ratio;
        ctx.beginPath();
        xs.forEach((x, i) => {
          if (x === null) return;
          ctx.moveTo(X(x), clampY(lows[i] === null ? far : Y(lows[i])));
          ctx.lineTo(X(x), clampY(highs[i] === null ? -far : Y(highs[i])));
        });
        ctx.stroke();
        dots(xs, ys, 3.5);
      } else if (piece.kind === "level") {
        const whole = piece.first === null && piece.last === null;
        ctx.setLineDash(whole ? [5 * ratio, 4 * ratio] : []);
        ctx.lineWidth = (whole ? 1.5 : 3) * ratio;
        ctx.beginPath();
        ctx.moveTo(piece.first === null ? bbox.left : X(piece.first), clampY(Y(piece.value)));
        ctx.lineTo(piece.last === null ? bbox.left + bbox.width : X(piece.last), clampY(Y(piece.value)));
        ctx.stroke();
      } else if (piece.along === "x" && piece.value !== null) {
        const x = X(piece.value);
        ctx.beginPath();
        ctx.moveTo(x, bbox.top);
        ctx.lineTo(x, bbox.top + bbox.height);
        ctx.stroke();
        if (piece.low !== null || piece.high !== null) {
          ctx.globalAlpha = 0.13;
          const left = piece.low === null ? bbox.left : X(piece.low);
          const right = piece.high === null ? bbox.left + bbox.width : X(piece.high);
          ctx.fillRect(left, bbox.top, right - left, bbox.height);
        }
      }
    }
    ctx.restore();
    ctx.save();
    // intervals along y stand at the right of the frame
    for (const piece of chart.pieces) {
      if (piece.kind !== "interval" || piece.along !== "y" || piece.value === null) continue;
      const x = bbox.left + bbox.width + (10 + 12 * intervals++) * ratio;
      const inside = (y) => Math.max(bbox.top, Math.min(bbox.top + bbox.height, y));
      ctx.strokeStyle = ctx.fillStyle = page.colour(piece.role);
      ctx.lineWidth = 2 * ratio;
      if (piece.low !== null || piece.high !== null) {
        const ends = [piece.low === null ? bbox.top + bbox.height : inside(Y(piece.low)), piece.high === null ? bbox.top : inside(Y(piece.high))];
        ctx.beginPath();
        ctx.moveTo(x, ends[0]);
        ctx.lineTo(x, ends[1]);
        ctx.stroke();
        [[piece.low, ends[0], 1], [piece.high, ends[1], -1]].forEach(([value, y, sign]) => {
          const cut = value === null || inside(Y(value)) !== Y(value);
          const s = 4 * ratio;
          ctx.beginPath();
          if (cut) { ctx.moveTo(x - s, y - sign * s); ctx.lineTo(x, y); ctx.lineTo(x + s, y - sign * s); } else { ctx.moveTo(x - s, y); ctx.lineTo(x + s, y); }
          ctx.stroke();
        });
      }
      const y = inside(Y(piece.value)), s = 5 * ratio;
      ctx.beginPath();
      ctx.moveTo(x, y - s); ctx.lineTo(x + s, y); ctx.lineTo(x, y + s); ctx.lineTo(x - s, y);
      ctx.closePath();
      ctx.fill();
    }
    ctx.restore();

    function dots(xs, ys, radius) {
      ctx.beginPath();
      xs.forEach((x, i) => {
        if (x === null || ys[i] === null) return;
        const px = X(x), py = Y(ys[i]);
        ctx.moveTo(px + radius * ratio, py);
        ctx.arc(px, py, radius * ratio, 0, 7);
      });
      ctx.fill();
    }
  }

  // Values of a tick: as many digits as the step needs.
  function ticks(names) {
    return (u, splits) => {
      if (names.length) return splits.map((value) => (Number.isInteger(value) ? names[value] ?? "" : ""));
      const step = splits.length > 1 ? Math.abs(splits[1] - splits[0]) : 1;
      let digits = Math.max(0, Math.min(10, -Math.floor(Math.log10(step) + 1e-9)));
      if (Math.abs(step * 10 ** digits - Math.round(step * 10 ** digits)) > 1e-6) digits++;
      return splits.map((value) => {
        const size = Math.abs(value);
        if (size >= 1e6 && step >= 1e5) return `${number(value / 1e6, 4)} M`;
        if (size > 0 && (size >= 1e9 || step < 1e-6)) return value.toPrecision(2);
        return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits }).replace("-", "−");
      });
    };
  }

  // A longest tick of y needs this many pixels.
  function axisSize(u, values) {
    if (!values || !values.length) return 36;
    return 16 + 6.6 * Math.max(...values.map((text) => text.length));
  }

  function describe(chart) {
    const names = [...new Set(chart.pieces.map((piece) => piece.name))].join(", ");
    const ends = chart.pieces.filter((piece) => piece.kind === "series" && piece.columns[1].length)
      .map((piece) => `${piece.name} ends at ${number(piece.columns[1].at(-1))}`).slice(0, 3);
    const intervals = chart.pieces.filter((piece) => piece.kind === "interval").map(intervalText);
    return [chart.title, chart.note, `Chart of ${names}`, chart.x_label && `by ${chart.x_label}`, ...ends, ...intervals]
      .filter(Boolean).join(". ");
  }
  const intervalText = (piece) => {
    const known = piece.low !== null || piece.high !== null;
    return `${piece.name} ${number(piece.value, 5)}` + (known ? ` (${openEnd(piece.low, "−∞")} … ${openEnd(piece.high, "∞")})` : "");
  };

  function dataRows(chart) {
    const rows = [["piece", chart.x_label || "x", chart.y_label || "y", "low", "high"]];
    for (const piece of chart.pieces) {
      if (isSeries(piece)) {
        const [xs, ...ys] = piece.columns;
        xs.forEach((x, i) => {
          const values = piece.kind === "band" ? [null, ys[0][i], ys[1][i]] : piece.kind === "series" ? [ys[0][i], null, null] : ys.map((y) => y[i]);
          rows.push([piece.name, x, ...values]);
        });
      } else if (piece.kind === "level") rows.push([piece.name, null, piece.value, null, null]);
      else rows.push([piece.name, null, piece.value, piece.low, piece.high]);
    }
    return rows;
  }

  // Draw a chart in a frame; `view` keeps its zoom between updates.
  page.drawChart = (box, chart, size, view) => {
    const frame = el("div", {
      class: "plot", tabindex: "0", role: "application", "aria-roledescription": "chart", "aria-label": describe(chart),
    });
    frame.style.height = `${HEIGHTS[size]}px`;
    box.append(frame);
    let plot = null;

    function make() {
      if (plot) return;
      const xs = allX(chart);
      const intervals = chart.pieces.filter((piece) => piece.kind === "interval" && piece.along === "y").length;
      const font = "12px system-ui, sans-serif";
      // whole numbers have no ticks between them
      const whole = chart.x_names.length > 0 || xs.every(Number.isInteger);
      const steps = [1, 2, 5].flatMap((first) => Array.from({ length: 16 }, (_, power) => first * 10 ** power)).sort((a, b) => a - b);
      const axis = (names, label, extra) => ({
        stroke: () => page.colour("muted"), font, labelFont: font,
        grid: { stroke: () => page.colour("grid"), width: 1 },
        ticks: { show: false }, values: ticks(names), ...(label ? { label, labelSize: 18, labelGap: 2 } : {}),
        ...extra,
      });
      const total = xs.at(-1) - xs[0];
      // dots and whiskers stand clear of the frame
      const edge = chart.x_names.length ? 0.5 : total * (chart.pieces.some((piece) => piece.kind === "whiskers") ? 0.04 : 0.01);
      const full = [xs[0] - edge, xs.at(-1) + edge];
      let visible = full;
      plot = new uPlot({
        width: frame.clientWidth || 300, height: HEIGHTS[size],
        padding: [8, Math.max(chart.x_names.length ? 10 : 26, 8 + 12 * intervals), 0, 4],
        legend: { show: false },
        cursor: { drag: { x: true, y: false, setScale: true }, points: { show: false }, y: false },
        scales: {
          // computed before y, which is fitted to the visible part
          x: { time: false, range: (u, low, high) => (visible = low === xs[0] && high === xs.at(-1) ? full : [low, high]) },
          y: {
            range: (u) => {
              if (chart.y_names.length) return [-0.5, chart.y_names.length - 0.5];
              return rangeOfY(chart, ...visible);
            },
          },
        },
        axes: [
          axis(chart.x_names, chart.x_label, { size: 28, space: 60, ...(whole ? { incrs: steps } : {}) }),
          axis(chart.y_names, chart.y_label, { size: axisSize, space: 34, ...(chart.y_names.length ? { incrs: steps } : {}) }),
        ],
        series: [{}, { paths: () => null, points: { show: false } }],
        hooks: {
          // below the axes' texts, above the grid
          draw: [(u) => draw(u, chart)],
          setCursor: [(u) => hover(u)],
          setScale: [(u, key) => {
            if (key !== "x" || !plot) return;
            const { min, max } = u.scales.x;
            const whole = min <= full[0] + 1e-12 && max >= full[1] - 1e-12;
            view.zoom = whole ? null : [min, max];
          }],
        },
      }, [xs, xs.map(() => 0)], frame);
      frame.plot = plot;
      if (view.zoom) plot.setScale("x", { min: view.zoom[0], max: view.zoom[1] });
      new ResizeObserver(() => {
        if (frame.clientWidth && frame.clientWidth !== plot.width) plot.setSize({ width: frame.clientWidth, height: HEIGHTS[size] });
      }).observe(frame);
    }

    function lines(u, x) {
      const reach = (u.scales.x.max - u.scales.x.min) * 0.02;
      const values = chart.pieces.map((piece) => {
        const text = textAt(chart, piece, x, reach);
        return text === null ? null : [piece.role, text];
      }).filter(Boolean);
      const fixed = chart.pieces.filter((piece) => piece.kind === "interval").map((piece) => [piece.role, intervalText(piece)]);
      const label = chart.x_names[Math.round(x)] ?? number(x, 4);
      return [`${chart.x_label || "x"} ${label}`, ...values, ...fixed];
    }
    function hover(u) {
      const { left, top } = u.cursor;
      if (left < 0 || document.activeElement !== frame && !frame.matches(":hover")) { page.hideTip(); return; }
      const box = u.over.getBoundingClientRect();
      page.showTip(lines(u, u.posToVal(left, "x")), box.left + left, box.top + Math.max(0, top));
    }
    frame.addEventListener("mouseleave", page.hideTip);
    frame.addEventListener("blur", page.hideTip);
    frame.addEventListener("keydown", (event) => {
      if (!plot) return;
      const { min, max } = plot.scales.x;
      const width = plot.over.clientWidth;
      const at = plot.cursor.left >= 0 ? plot.cursor.left : width;
      const move = { ArrowLeft: -width / 40, ArrowRight: width / 40, Home: -width, End: width }[event.key];
      if (move !== undefined) {
        const left = Math.max(0, Math.min(width, at + move));
        plot.setCursor({ left, top: 0 });
        page.say(lines(plot, plot.posToVal(left, "x")).map((line) => (Array.isArray(line) ? line[1] : line)).join(". "));
      } else if (event.key === "+" || event.key === "-") {
        const centre = plot.posToVal(at, "x"), half = (max - min) * (event.key === "+" ? 0.25 : 1);
        const xs = plot.data[0];
        plot.setScale("x", { min: Math.max(xs[0], centre - half), max: Math.min(xs.at(-1), centre + half) });
      } else if (event.key === "0" || event.key === "Escape") {
        plot.setScale("x", { min: plot.data[0][0], max: plot.data[0].at(-1) });
        page.hideTip();
      } else return;
      event.preventDefault();
    });
    page.whenSeen(frame, make);
    return () => { plot?.redraw(false); };
  };
  page.chartRows = dataRows;

  // Call `make` when an element comes near the window, before printing, or when the browser is
  // idle: a picture of the whole page has all charts.
  const waiting = new Map();
  const observer = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) see(entry.target);
  }, { rootMargin: "300px" });
  function see(element) {
    const make = waiting.get(element);
    waiting.delete(element);
    observer.unobserve(element);
    // an update may have replaced it
    if (element.isConnected) make?.();
  }
  const whenIdle = window.requestIdleCallback ?? ((callback) => setTimeout(callback, 50));
  function seeNext() {
    const [next] = waiting.keys();
    if (!next) return;
    see(next);
    whenIdle(seeNext);
  }
  page.whenSeen = (element, make) => {
    if (!waiting.size) whenIdle(seeNext);
    waiting.set(element, make);
    observer.observe(element);
  };
  addEventListener("beforeprint", () => [...waiting.keys()].forEach(see));

  // Samples of a group's looks.
  const LOOKS = {
    band: (c) => [["path", { d: "M0 1H24V11H0Z", fill: c, "fill-opacity": "0.25" }]],
    line: (c) => [["path", { d: "M0 6H24", stroke: c, "stroke-width": "2.5" }]],
    dashes: (c) => [["path", { d: "M0 6H24", stroke: c, "stroke-width": "2", "stroke-dasharray": "5 4" }]],
    bar: (c) => [["path", { d: "M0 6H24", stroke: c, "stroke-width": "4" }]],
    upright: (c) => [["path", { d: "M12 0V12", stroke: c, "stroke-width": "2.5" }]],
    diamond: (c) => [["path", { d: "M12 0L18 6L12 12L6 6Z", fill: c }]],
    dots: (c) => [["circle", { cx: "12", cy: "6", r: "4", fill: c }]],
    square: (c) => [["rect", { x: "5", y: "0", width: "14", height: "12", fill: c }]],
  };
  const lookOf = (piece) => {
    if (piece.kind === "series") return piece.joined ? "line" : "dots";
    if (piece.kind === "level") return piece.first === null && piece.last === null ? "dashes" : "bar";
    if (piece.kind === "interval") return piece.along === "x" ? "upright" : "diamond";
    return piece.kind === "whiskers" ? "dots" : "band";
  };
  page.legend = (charts) => {
    const looks = new Map();
    for (const chart of charts) {
      // the labels of a single series tell what it is
      const series = chart.kind === "bars" && chart.series.length > 1 ? chart.series : [];
      for (const piece of chart.kind === "chart" ? chart.pieces : series) {
        const look = chart.kind === "bars" ? "square" : lookOf(piece);
        if (piece.name) looks.set(`${look} ${piece.role} ${piece.name}`, [look, piece]);
      }
    }
    if (!looks.size) return null;
    // the labels tell what a single line is, but not what a band or a whisker is
    const [[, only]] = looks.values();
    if (looks.size === 1 && !["band", "whiskers"].includes(only.kind)) return null;
    const items = [...looks.values()].map(([look, piece]) => {
      const shapes = LOOKS[look](`var(--${piece.role})`).map(([name, attributes]) => page.svg(name, attributes));
      return el("li", {}, page.svg("svg", { viewBox: "0 0 24 12", "aria-hidden": "true" }, ...shapes), piece.name);
    });
    return el("ul", { class: "legend" }, ...items);
  };
})();

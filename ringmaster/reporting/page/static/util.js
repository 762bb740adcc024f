// Small helpers of the page's scripts: elements, numbers, colours, the clipboard, the tip.
"use strict";
const page = {};
(() => {
  const SVG = "http://www.w3.org/2000/svg";

  // Make an element; children are elements or texts, never markup.
  page.el = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);
  page.svg = (name, attributes = {}, ...children) => fill(document.createElementNS(SVG, name), attributes, children);

  function fill(element, attributes, children) {
    for (const [key, value] of Object.entries(attributes)) {
      if (value === null || value === undefined || value === false) continue;
      if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
      else element.setAttribute(key, value === true ? "" : value);
    }
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
  }

  // A number for people: up to six digits, thousands separated.
  page.number = (value, digits = 6) => {
    if (value === null || value === undefined) return "";
    if (value === 0) return "0";
    const size = Math.abs(value);
    if (size >= 1e12 || size < 1e-4) return value.toPrecision(3).replace("-", "−");
    const text = Number(value.toPrecision(digits)).toLocaleString("en-US", { maximumFractionDigits: 10 });
    return text.replace("-", "−");
  };
  page.percent = (share) => `${page.number(100 * share, 3)} %`;

  // The first number in a text such as "+12.3 ± 5", "1,234", "−∞" or "61 %"; NaN without one.
  page.parse = (text) => {
    const match = /^[<>≤≥≈~(\s]*([+\-−]?)\s*(∞|inf|\d[\d,]*(?:\.\d+)?(?:e[+\-]?\d+)?|\.\d+)/i.exec(text);
    if (!match) return NaN;
    const size = /^(∞|inf)$/i.test(match[2]) ? Infinity : Number(match[2].replaceAll(",", ""));
    return match[1] === "-" || match[1] === "−" ? -size : size;
  };

  // The present value of a colour of the style sheet.
  const probe = document.createElement("span");
  probe.hidden = true;
  const known = new Map();
  page.colour = (name) => {
    if (!known.has(name)) {
      if (!probe.isConnected) document.body.append(probe);
      probe.style.color = `var(--${name})`;
      known.set(name, getComputedStyle(probe).color);
    }
    return known.get(name);
  };
  page.forgetColours = () => known.clear();

  // Return whether a text is on the clipboard now.
  page.toClipboard = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      const area = page.el("textarea", { "aria-hidden": "true" });
      area.value = text;
      document.body.append(area);
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      return done;
    }
  };
  page.copy = async (text, button) => {
    const done = await page.toClipboard(text);
    const label = button.textContent;
    button.textContent = done ? "Copied" : "Not copied";
    page.say(button.textContent);
    button.disabled = true;
    setTimeout(() => { button.textContent = label; button.disabled = false; }, 1200);
  };

  // Announce a text to screen readers.
  page.say = (text) => { document.getElementById("say").textContent = text; };

  page.csv = (rows) => rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
  const cell = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };

  // One floating text near the pointer; lines is a list of texts or [colour, text].
  const tip = page.el("div", { id: "tip", "aria-hidden": "true", hidden: true });
  page.showTip = (lines, x, y) => {
    if (!tip.isConnected) document.body.append(tip);
    tip.replaceChildren(...lines.map((line) => {
      if (!Array.isArray(line)) return page.el("div", {}, line);
      const dot = page.el("i");
      dot.style.background = `var(--${line[0]})`;
      return page.el("div", {}, dot, line[1]);
    }));
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const left = x + 14 + box.width > innerWidth ? x - 14 - box.width : x + 14;
    tip.style.left = `${Math.max(4, left)}px`;
    tip.style.top = `${Math.min(Math.max(4, y + 14), innerHeight - box.height - 4)}px`;
  };
  page.hideTip = () => { tip.hidden = true; };

  // Elements with data-tip show it to pointers and to the keyboard.
  for (const [name, place] of [["mouseover", null], ["focusin", "box"]]) {
    document.addEventListener(name, (event) => {
      const target = event.target.closest?.("[data-tip]");
      if (!target) return;
      const box = target.getBoundingClientRect();
      page.showTip(target.dataset.tip.split("\n"), place ? box.right : event.clientX, place ? box.top : event.clientY);
    });
  }
  for (const name of ["mouseout", "focusout"]) {
    document.addEventListener(name, (event) => { if (event.target.closest?.("[data-tip]")) page.hideTip(); });
  }
  addEventListener("scroll", page.hideTip, { passive: true });
})();

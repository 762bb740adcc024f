// Starts the page: data, theme, contents, live updates.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  window.ringmaster = { update(parts) { data.parts = parts; } };
})();

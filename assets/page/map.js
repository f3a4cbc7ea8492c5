// The map on the page: texts are fetched in the background, choices are sent to Python.
(() => {
  "use strict";
  const { views, select, el } = window.SB;
  const CHUNK = 4000;

  views.map = (root, host) => {
    const blank = el("div", { class: "sb-empty sb-map-empty" });
    const frame = el("div", { class: "sb-map" });
    let texts = [], key = null, drawing = null;
    root.replaceChildren(blank, frame);

    async function fetchTexts(wanted, n) {
      texts = new Array(n);
      for (let start = 0; start < n && key === wanted; start += CHUNK) {
        const part = await host.server.map_texts({ key: wanted, start, count: CHUNK });
        if (key === wanted) part.forEach((text, i) => { texts[start + i] = text; });
      }
      if (key === wanted) root.dataset.texts = "ready";
    }

    return (value) => {
      blank.hidden = !value.empty;
      frame.hidden = Boolean(value.empty);
      if (value.empty) { blank.textContent = value.empty; return; }
      drawing = drawing || window.SB.scene(frame, {
        textOf: (row) => texts[row],
        onPoint: (row) => select(host, "point", row),
        onLasso: (rows) => select(host, "lasso", rows),
      });
      if (value.key !== key) {
        key = value.key;
        root.dataset.texts = "";
        fetchTexts(key, value.n).catch(() => { root.dataset.texts = "missing"; });
      }
      drawing.draw(value);
    };
  };
})();

// Two maps of the same texts side by side, of which the second moves between both. No Gradio in it: the page and the saved file use it.
// value: {n, k, titles: [2], points: [2 × base64 float32 (n·2)], moved: base64 float32 (n), near: [2 × base64 int32 (n·k)],
//         changed: [lost, gained: base64 uint8 (n·k)]}; rows are 0-based positions.
(() => {
  "use strict";
  const { el, token, onTheme, grouped, t } = window.SB;
  const SHADES = 12, REACH = 14, MILLISECONDS = 1400;

  function decode(text, Kind) {
    const raw = atob(text || ""), bytes = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i += 1) bytes[i] = raw.charCodeAt(i);
    return new Kind(bytes.buffer);
  }
  const mixed = (from, to, share) => "#" + [1, 3, 5].map((at) => Math.round(parseInt(from.slice(at, at + 2), 16) * (1 - share) + parseInt(to.slice(at, at + 2), 16) * share).toString(16).padStart(2, "0")).join("");
  const slow = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

  // hooks: textOf(row), onRows(rows) for the brush, onRow(row) for a click.
  function morph(root, hooks) {
    let value = null, layouts = null, moved = null, near = null, changed = null, order = null, bounds = null;
    let share = 1, lit = null, chosen = null, box = null, running = 0;
    const slider = el("input", { type: "range", min: 0, max: 1, step: 0.01, "aria-label": "From the first model to the second", on: { input: () => { stop(); at(Number(slider.value)); } } });
    const play = el("button", { type: "button", class: "sb-small-button", on: { click: () => run() } }, "Play");
    const from = el("span", { class: "sb-dim" }, "before"), to = el("span", { class: "sb-dim" }, "after");
    const legend = el("div", { class: "sb-shades" }, el("span", {}, "same neighbors"), el("i", { "aria-hidden": "true" }), el("span", {}, "all others"));
    const figures = [0, 1].map((side) => figure(side));
    root.replaceChildren(el("div", { class: "sb-morph-bar" }, play, el("div", { class: "sb-morph-slider" }, from, slider, to), legend),
      el("div", { class: "sb-morph" }, figures.map((one) => one.box)));

    function figure(side) {
      const canvas = el("canvas", { role: "img" }), tip = el("div", { class: "sb-tip", hidden: true }), title = el("figcaption", {});
      const frame = el("div", { class: "sb-morph-frame" }, canvas, tip);
      const own = { side, canvas, tip, title, frame, box: el("figure", {}, title, frame) };
      let start = null;
      const where = (event) => { const area = canvas.getBoundingClientRect(); return [event.clientX - area.left, event.clientY - area.top]; };
      canvas.addEventListener("pointerdown", (event) => { start = where(event); if (event.pointerType !== "touch") canvas.setPointerCapture(event.pointerId); });
      canvas.addEventListener("pointermove", (event) => {
        const now = where(event);
        if (start && event.pointerType !== "touch" && (box || Math.hypot(now[0] - start[0], now[1] - start[1]) > 5)) {
          box = { side, left: Math.min(start[0], now[0]), right: Math.max(start[0], now[0]), top: Math.min(start[1], now[1]), bottom: Math.max(start[1], now[1]) };
          tip.hidden = true;
          return draw();
        }
        return hover(own, now);
      });
      canvas.addEventListener("pointerup", (event) => {
        const now = where(event), brushed = box;
        start = box = null;
        if (brushed) {
          const rows = within(own, brushed);
          chosen = null;
          light(rows.length ? rows : null);
          hooks.onRows(rows);
        } else {
          const row = closest(own, now);
          if (row >= 0) { choose(row); hooks.onRow(row); } else if (lit || chosen !== null) { choose(null); light(null); hooks.onRows([]); }
        }
      });
      canvas.addEventListener("pointercancel", () => { start = box = null; draw(); });
      canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
      return own;
    }

    const shareOf = (side) => (side ? share : 0);
    function place(own, row, out) {
      const part = shareOf(own.side), [first, second] = layouts;
      const x = first[row * 2] + (second[row * 2] - first[row * 2]) * part, y = first[row * 2 + 1] + (second[row * 2 + 1] - first[row * 2 + 1]) * part;
      out[0] = own.left + (x - bounds.left) * own.scale;
      out[1] = own.top + (bounds.high - y) * own.scale;
      return out;
    }
    function fit(own) {
      const width = own.frame.clientWidth, height = own.frame.clientHeight, ratio = Math.min(2, window.devicePixelRatio || 1);
      if (own.canvas.width !== Math.round(width * ratio) || own.canvas.height !== Math.round(height * ratio)) {
        own.canvas.width = Math.round(width * ratio);
        own.canvas.height = Math.round(height * ratio);
      }
      const wide = bounds.right - bounds.left || 1, tall = bounds.high - bounds.low || 1;
      own.scale = Math.min((width - 24) / wide, (height - 24) / tall);
      own.left = (width - wide * own.scale) / 2;
      own.top = (height - tall * own.scale) / 2;
      own.ratio = ratio;
      own.size = Math.max(1.4, Math.min(4.5, Math.sqrt((width * height) / value.n) / 7));
    }

    function draw() {
      if (!value) return;
      const still = token("--sb-still"), far = token("--sb-moved"), faint = token("--sb-line"), accent = token("--sb-accent"), ink = token("--sb-ink");
      const shades = Array.from({ length: SHADES }, (_, step) => mixed(still, far, step / (SHADES - 1)));
      const spot = [0, 0];
      for (const own of figures) {
        if (!own.frame.clientWidth) continue;
        fit(own);
        const pen = own.canvas.getContext("2d"), size = own.size;
        pen.setTransform(own.ratio, 0, 0, own.ratio, 0, 0);
        pen.clearRect(0, 0, own.frame.clientWidth, own.frame.clientHeight);
        const dots = (rows, colour, wider) => {
          pen.fillStyle = colour;
          pen.beginPath();
          for (const row of rows) {
            place(own, row, spot);
            pen.moveTo(spot[0] + size + wider, spot[1]);
            pen.arc(spot[0], spot[1], size + wider, 0, 6.3);
          }
          pen.fill();
        };
        // Of the texts that are not lit the dots are faint; those that moved most lie on top.
        if (lit || chosen !== null) dots(order.all, faint, 0);
        const shown = lit ? order.lit : chosen !== null ? [] : order.steps;
        shown.forEach((rows, step) => { pen.globalAlpha = lit ? 1 : 0.85; dots(rows, shades[step], lit ? 0.8 : 0); });
        pen.globalAlpha = 1;
        if (chosen !== null) neighbours(pen, own, { still, far, ink, dots });
        if (box && box.side === own.side) {
          pen.strokeStyle = accent;
          pen.lineWidth = 1.5;
          pen.strokeRect(box.left, box.top, box.right - box.left, box.bottom - box.top);
        }
      }
      root.dataset.drawn = String(share);
    }

    // A line from the chosen text to each of its nearest; those that only this model has are in the colour of what moved.
    function neighbours(pen, own, { still, far, ink, dots }) {
      const own_ = [], others = [], centre = place(own, chosen, [0, 0]).slice(), end = [0, 0];
      for (let at = 0; at < value.k; at += 1) (changed[own.side][chosen * value.k + at] ? others : own_).push(near[own.side][chosen * value.k + at]);
      for (const [rows, colour] of [[own_, still], [others, far]]) {
        pen.strokeStyle = colour;
        pen.lineWidth = 1.2;
        pen.beginPath();
        for (const row of rows) { place(own, row, end); pen.moveTo(centre[0], centre[1]); pen.lineTo(end[0], end[1]); }
        pen.stroke();
        dots(rows, colour, 1.2);
      }
      dots([chosen], ink, 1.5);
      pen.strokeStyle = ink;
      pen.lineWidth = 1.6;
      pen.beginPath();
      pen.arc(centre[0], centre[1], own.size + 6, 0, 6.3);
      pen.stroke();
    }

    function closest(own, [x, y]) {
      const spot = [0, 0];
      let best = -1, least = REACH * REACH;
      for (let row = 0; row < value.n; row += 1) {
        place(own, row, spot);
        const far = (spot[0] - x) ** 2 + (spot[1] - y) ** 2;
        if (far < least) { least = far; best = row; }
      }
      return best;
    }
    function within(own, area) {
      const spot = [0, 0], rows = [];
      for (let row = 0; row < value.n; row += 1) {
        place(own, row, spot);
        if (spot[0] >= area.left && spot[0] <= area.right && spot[1] >= area.top && spot[1] <= area.bottom) rows.push(row);
      }
      return rows;
    }
    function hover(own, spot) {
      const row = value ? closest(own, spot) : -1;
      own.tip.hidden = row < 0;
      own.canvas.style.cursor = row < 0 ? "crosshair" : "pointer";
      if (row < 0) return;
      own.tip.replaceChildren(el("p", { translate: "no" }, hooks.textOf(row) ?? "…"), el("span", {}, told(row)));
      own.tip.style.left = `${Math.max(6, Math.min(spot[0] + 14, own.frame.clientWidth - own.tip.offsetWidth - 6))}px`;
      own.tip.style.top = `${spot[1] + own.tip.offsetHeight + 24 > own.frame.clientHeight ? Math.max(6, spot[1] - own.tip.offsetHeight - 12) : spot[1] + 14}px`;
    }
    const told = (row) => t`${Math.round(moved[row] * value.k)} of its ${value.k} nearest neighbors changed`;

    const step = (row) => Math.round(moved[row] * (SHADES - 1));
    function sorted(rows) {
      const steps = Array.from({ length: SHADES }, () => []);
      for (const row of rows) steps[step(row)].push(row);
      return steps;
    }
    function light(rows) { lit = rows && new Set(rows); order.lit = rows ? sorted(rows) : []; draw(); }
    function choose(row) { chosen = row; lit = null; draw(); }
    function at(next) {
      share = next;
      slider.value = String(next);
      slider.setAttribute("aria-valuetext", next === 0 ? "before" : next === 1 ? "after" : t`${Math.round(next * 100)}% of the way`);
      figures[1].title.textContent = next === 1 ? t`After: ${value.titles[1]}` : next === 0 ? t`Before: ${value.titles[0]}` : t`${Math.round(next * 100)}% of the way`;
      draw();
    }
    function stop() { cancelAnimationFrame(running); running = 0; play.textContent = "Play"; }
    function run() {
      if (running) return stop();
      if (slow()) return at(share === 1 ? 0 : 1);
      const first = share === 1 ? 0 : share, began = performance.now();
      play.textContent = "Stop";
      const frame = (now) => {
        const part = Math.min(1, (now - began) / MILLISECONDS + first);
        at(part < 1 ? part * part * (3 - 2 * part) : 1);
        if (part < 1) running = requestAnimationFrame(frame); else stop();
      };
      running = requestAnimationFrame(frame);
      return undefined;
    }

    new ResizeObserver(() => draw()).observe(root);
    onTheme(() => draw());
    return {
      told, light, choose, movedOf: (row) => moved[row],
      nearOf: (row, side) => Array.from({ length: value.k }, (_, i) => ({ row: near[side][row * value.k + i], changed: changed[side][row * value.k + i] === 1 })),
      draw(next) {
        stop();
        value = next;
        layouts = next.points.map((text) => decode(text, Float32Array));
        moved = decode(next.moved, Float32Array);
        near = next.near.map((text) => decode(text, Int32Array));
        changed = next.changed.map((text) => decode(text, Uint8Array));
        bounds = { left: Infinity, right: -Infinity, low: Infinity, high: -Infinity };
        for (const points of layouts) for (let i = 0; i < points.length; i += 2) {
          bounds.left = Math.min(bounds.left, points[i]); bounds.right = Math.max(bounds.right, points[i]);
          bounds.low = Math.min(bounds.low, points[i + 1]); bounds.high = Math.max(bounds.high, points[i + 1]);
        }
        lit = chosen = box = null;
        const rows = Array.from({ length: next.n }, (_, row) => row);
        order = { all: rows, steps: sorted(rows), lit: [] };
        figures[0].title.textContent = t`Before: ${next.titles[0]}`;
        figures.forEach((own, side) => own.canvas.setAttribute("aria-label", t`Map of ${grouped(next.n)} texts by ${next.titles[side]}; the lists below describe its content`));
        at(1);
      },
    };
  }
  window.SB.morph = morph;
})();

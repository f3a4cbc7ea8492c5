// The map itself, with no Gradio in it: the page and the exported file both use it.
// value: {n, dims, points: base64 float32 (n·dims), groups: base64 int32 (n), names: [{id, label, size}], shades: base64 float32 | null,
//         shade_name, layout_key, labels}; rows are 0-based positions.
(() => {
  "use strict";
  const { el, plotly, plain, token, onTheme, isDark, grouped } = window.SB;
  const LIGHT = ["#0f7f76", "#d9622b", "#4867c8", "#b8890b", "#a23e85", "#5a8f29", "#c23b3b", "#2f8fc4", "#7a5bc0", "#8a6a4f",
    "#1b9e77", "#e08a1e", "#6479a8", "#9c9a1d", "#d0568f", "#3f7d4e", "#e0665a", "#4fa7a7", "#9a77d1", "#6e7f80"];
  const DARK = ["#3fc3b6", "#f08a57", "#86a0f4", "#e2b93f", "#d97bbd", "#93c963", "#ee7a74", "#66bdec", "#ae94ee", "#c4a283",
    "#56d1a8", "#f5b25c", "#a0b3dd", "#cfcc57", "#f190bd", "#79bd8a", "#f7978c", "#84d4d4", "#c6abf3", "#a9b8b9"];
  const MANY = 15000;

  function decode(text, Kind) {
    const raw = atob(text || "");
    const bytes = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i += 1) bytes[i] = raw.charCodeAt(i);
    return new Kind(bytes.buffer);
  }
  const median = (values) => { values.sort((a, b) => a - b); return values[values.length >> 1]; };
  const faded = (hex, alpha) => hex + Math.round(alpha * 255).toString(16).padStart(2, "0");
  // In 3-D, transparent points hide what lies behind them; there a colour is mixed with the ground instead.
  const mixed = (hex, ground, share) => "#" + [1, 3, 5].map((at) => Math.round(parseInt(hex.slice(at, at + 2), 16) * share + parseInt(ground.slice(at, at + 2), 16) * (1 - share)).toString(16).padStart(2, "0")).join("");

  function scene(root, hooks) {
    const plot = el("div", { class: "sb-plot", role: "img", "aria-label": "Map of the sentences; the table beside it lists what is chosen" });
    const tip = el("div", { class: "sb-tip", hidden: true });
    const legend = el("div", { class: "sb-legend" });
    const count = el("span", { class: "sb-dim", role: "status" });
    const find = el("input", { type: "search", placeholder: "Find in the map", "aria-label": "Find in the map", on: { input: () => { marked = matches(find.value); paint(); } } });
    const modes = { pan: el("button", { type: "button" }, "Move"), lasso: el("button", { type: "button" }, "Lasso"), select: el("button", { type: "button" }, "Box") };
    const reset = el("button", { type: "button", on: { click: () => { focus = null; marked = []; find.value = ""; chosen = null; revision += 1; paint(); hooks.onLasso([]); } } }, "Reset");
    for (const [name, button] of Object.entries(modes)) button.addEventListener("click", () => { mode = name; paint(); });
    root.replaceChildren(
      el("div", { class: "sb-map-bar" }, el("div", { class: "sb-segments", role: "group", "aria-label": "What dragging does" }, Object.values(modes)), reset, find, count),
      el("div", { class: "sb-map-body" }, el("div", { class: "sb-map-frame" }, plot, tip), legend));

    let value = null, points = null, groups = null, shades = null, mode = "pan", focus = null, marked = [], chosen = null, revision = 0, bound = null, pointer = null;
    const colour = (group) => (group < 0 ? token("--sb-noise") : (isDark() ? DARK : LIGHT)[group % LIGHT.length]);

    function matches(query) {
      const wanted = query.trim().toLowerCase();
      const found = [];
      if (wanted) for (let row = 0; row < value.n; row += 1) if ((hooks.textOf(row) || "").toLowerCase().includes(wanted)) found.push(row);
      count.textContent = wanted ? `${grouped(found.length)} found` : "";
      return found;
    }

    function axis(at, rows) {
      return Array.from(rows || { length: value.n }, (row, i) => points[(rows ? row : i) * value.dims + at]);
    }

    function coordinates(rows) {
      const place = { x: axis(0, rows), y: axis(1, rows) };
      if (value.dims === 3) place.z = axis(2, rows);
      return place;
    }

    function traces() {
      const size = value.dims === 3 ? 3 : value.n > MANY ? 3 : value.n > 3000 ? 4.5 : 7;
      const dimmed = focus !== null || marked.length > 0;
      const bright = new Set(marked);
      const marker = { size, line: { width: 0 } };
      const ground = token("--sb-ground");
      if (shades && !dimmed) Object.assign(marker, { color: Array.from(shades), colorscale: "Viridis", showscale: true, colorbar: { title: { text: plain(value.shade_name) }, thickness: 10, len: 0.5, outlinewidth: 0, tickfont: { color: token("--sb-dim") } } });
      else marker.color = Array.from(groups, (group, row) => {
        const lit = !dimmed || (marked.length ? bright.has(row) : group === focus);
        const share = lit ? (group < 0 ? 0.55 : 0.85) : 0.1;
        return value.dims === 3 ? mixed(colour(group), ground, share) : faded(colour(group), share);
      });
      const type = value.dims === 3 ? "scatter3d" : "scattergl";
      const main = { type, mode: "markers", hoverinfo: "none", marker, ...coordinates(null) };
      if (value.dims === 2) { main.selectedpoints = chosen; main.unselected = { marker: { opacity: 0.12 } }; }
      return [main];
    }

    function annotations() {
      if (value.dims === 3 || !value.labels) return [];
      const places = new Map();
      groups.forEach((group, row) => { if (group >= 0) { if (!places.has(group)) places.set(group, []); places.get(group).push(row); } });
      // The largest groups are named first; a name that would cover another is left to the legend.
      const [left, right, low, high] = [0, 1].flatMap((at) => { const all = axis(at, null); return [all.reduce((a, b) => Math.min(a, b)), all.reduce((a, b) => Math.max(a, b))]; });
      const scale = Math.min((plot.clientWidth || 800) / (right - left || 1), (plot.clientHeight || 600) / (high - low || 1)) * 0.9;
      const placed = [];
      for (const name of value.names.filter((one) => one.id >= 0 && places.has(one.id)).slice(0, 40)) {
        const rows = places.get(name.id);
        const text = name.label.length > 28 ? `${name.label.slice(0, 27)}…` : name.label;
        const label = { name, text, x: median(rows.map((row) => points[row * 2])), y: median(rows.map((row) => points[row * 2 + 1])), half: text.length * 3.4 + 4 };
        const covers = (other) => Math.abs(label.x - other.x) * scale < label.half + other.half && Math.abs(label.y - other.y) * scale < 19;
        if (!placed.some(covers)) placed.push(label);
      }
      return placed.map((label) => ({
        x: label.x, y: label.y, text: plain(label.text), showarrow: false, captureevents: false,
        font: { size: 12, color: token("--sb-ink") }, bgcolor: token("--sb-veil"), borderpad: 2, opacity: focus === null || focus === label.name.id ? 1 : 0.25,
      }));
    }

    function layout() {
      const bare = { visible: false, showgrid: false, zeroline: false };
      const flat = { xaxis: bare, yaxis: { ...bare, scaleanchor: "x" }, annotations: annotations() };
      const deep = { scene: { xaxis: bare, yaxis: bare, zaxis: bare, uirevision: value.layout_key } };
      return {
        ...(value.dims === 3 ? deep : flat), margin: { l: 0, r: 0, t: 0, b: 0 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
        dragmode: value.dims === 3 ? "orbit" : mode, hovermode: "closest", showlegend: false, autosize: true,
        uirevision: `${value.layout_key}/${revision}`, selectionrevision: `${value.layout_key}/${revision}`,
        newselection: { line: { color: token("--sb-accent"), width: 1.5, dash: "solid" } }, activeselection: { fillcolor: token("--sb-accent"), opacity: 0.06 },
        font: { family: token("--font") || "sans-serif" },
      };
    }

    function drawLegend() {
      legend.replaceChildren(
        el("p", { class: "sb-caption" }, value.legend_title || "Groups"),
        el("ul", {}, value.names.map((name) => el("li", {}, el("button", { type: "button", "aria-pressed": focus === name.id ? "true" : "false",
          on: { click: () => { focus = focus === name.id ? null : name.id; marked = []; find.value = ""; count.textContent = ""; paint(); } } },
          el("i", { style: { background: colour(name.id) } }), el("span", {}, name.label), el("b", {}, grouped(name.size)))))));
    }

    async function paint() {
      if (!value) return;
      const Plotly = await plotly();
      const now = value;
      for (const [name, button] of Object.entries(modes)) { button.setAttribute("aria-pressed", mode === name ? "true" : "false"); button.disabled = now.dims === 3 && name !== "pan"; }
      drawLegend();
      if (bound !== null && bound !== now.dims) { Plotly.purge(plot); bound = null; }
      await Plotly.react(plot, traces(), layout(), { displayModeBar: false, scrollZoom: true, responsive: true, doubleClick: "reset" });
      if (bound === null) { bind(); bound = now.dims; }
      root.dataset.drawn = now.layout_key;
    }

    function bind() {
      plot.on("plotly_hover", (event) => showTip(event.points[0].pointNumber, event.event));
      plot.on("plotly_unhover", () => { tip.hidden = true; });
      plot.on("plotly_click", (event) => hooks.onPoint(event.points[0].pointNumber));
      plot.on("plotly_selected", (event) => {
        if (!event) return;
        chosen = event.points.map((point) => point.pointNumber);
        hooks.onLasso(chosen);
      });
      plot.on("plotly_deselect", () => { chosen = null; hooks.onLasso([]); });
    }
    plot.addEventListener("pointermove", (event) => { pointer = event; });

    function showTip(row, event) {
      const name = value.names.find((item) => item.id === groups[row]);
      tip.replaceChildren(el("p", {}, hooks.textOf(row) ?? "…"), name ? el("span", {}, el("i", { style: { background: colour(name.id) } }), name.label) : "");
      tip.hidden = false;
      const frame = plot.getBoundingClientRect();
      const at = event && event.clientX !== undefined ? event : pointer;
      if (!at) return;
      const x = at.clientX - frame.left, y = at.clientY - frame.top;
      tip.style.left = `${Math.max(6, Math.min(x + 14, frame.width - tip.offsetWidth - 6))}px`;
      tip.style.top = `${y + tip.offsetHeight + 24 > frame.height ? Math.max(6, y - tip.offsetHeight - 12) : y + 14}px`;
    }

    onTheme(() => paint());
    return {
      plot,
      draw(next) {
        const moved = !value || value.layout_key !== next.layout_key;
        value = next;
        points = decode(next.points, Float32Array);
        groups = decode(next.groups, Int32Array);
        shades = next.shades ? decode(next.shades, Float32Array) : null;
        focus = null;
        if (moved) { marked = []; chosen = null; find.value = ""; count.textContent = ""; }
        return paint();
      },
    };
  }
  window.SB.scene = scene;
})();

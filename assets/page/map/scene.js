// The map itself, with no Gradio in it: the page and the exported file both use it.
// value: {n, dims, points: base64 float32 (n·dims), layout_key, hidden: base64 uint8 (n), clusters: base64 int16 (n), typical: base64 uint16 (n),
//         cluster_names: [{id, label, size, hue?, hues?, shade?}], by, colours: [columns, clusters first], labels: [{label, size, rows: base64 int32}]}
// The arrays of the points may also be typed arrays, which page.js has fetched.
// rows are 0-based positions; a list is {kind, title, rows, scores?, cluster?, group?}.
// What draws points (marks.js) and hits them (picking.js) is given an index of their places (spatial.js), made once for a layout, and two arrays
// that may change at any time; it knows nothing of columns and filters:
//   hidden: Uint8Array (n), 1: removed or filtered out, thus neither drawn nor hit;
//   paint: {index: Uint16Array (n) of places in the palette, palette() → [[r, g, b], …] in the page's light or dark, faint: Set of places that
//           recede, scale?: so many first places are one scale} (see paint.js).
(() => {
  "use strict";
  const { el, token, onTheme, grouped, mapping, t } = window.SB, { decode } = mapping, over = mapping.overlay;
  const CONTOURS_FROM = 20000, HOVER = 9, REST = 130, BESIDE = 60, OUTLINED = 3000, RINGED = 40000;
  // Marks that are drawn (see drawing/marks.js): at rest, and while the map moves, where a slow frame asks for fewer and a quick one allows more.
  const AT_REST = 120000, MOVING = [5000, 30000, 60000], SLOW = 27, QUICK = 19, FEWER = 0.75, MORE = 1.05, CLOSED = 1.25;  // a mark's width over that of its cell, so that neighbours close up

  // hooks: {textOf(row), cellsOf(row) → [[column, text, own]], want?(rows) → Promise: texts that textOf does not know yet, items(rows),
  //         column(name) → Promise<column as Python sends it, or {error}>, words?(query), near(row, rows or null for all), meaning?(query, rows), colour?(name): it was chosen,
  //         chosen?(): other columns are shown, actions(list), label?(list), forms(list), assign?, undo?, teach?}
  function scene(root, hooks) {
    const layer = (name) => el("canvas", { class: `sb-map-${name}`, "aria-hidden": "true" });
    const [below, gpu, above] = [layer("below"), layer("points"), layer("above")];
    const tip = el("div", { class: "sb-tip", hidden: true });
    const plot = el("div", { class: "sb-plot", tabindex: 0, role: "application", "aria-label": "Map of the texts. Arrow keys pan, plus and minus zoom; the list next to it shows the selection." }, below, gpu, above);
    const count = el("span", { class: "sb-dim sb-map-count", role: "status" });
    const modes = { pan: el("button", { type: "button" }, "Move"), lasso: el("button", { type: "button", title: "Or drag while holding Shift" }, "Lasso"), select: el("button", { type: "button" }, "Box") };
    const reset = el("button", { type: "button", on: { click: () => { close(); eye.fly(eye.home(), stepped); } } }, "Reset");
    for (const [name, button] of Object.entries(modes)) button.addEventListener("click", () => { mode = name; pressed(); });
    const list = el("section", { class: "sb-map-list", "aria-label": "Selected texts", hidden: true }), legendRoot = el("div", { class: "sb-legend" }), filterRoot = el("div", { class: "sb-map-filters" }), panelRoot = el("div", { class: "sb-map-panel" });
    const heading = el("p", { class: "sb-map-heading-line" }), filtered = el("span", { class: "sb-map-filtered", role: "status", hidden: true });

    let value = null, eye = null, points = null, ids = null, labelled = [], typical = null, removed = null, hidden = null, paint = null, colours = [], opacity = null, lines = [];
    let columns = new Map(), labelColumn = null, offered = null, wanted = 0, edited = "", layout = "", dot = 8;
    let mode = "pan", chosen = null, past = [], light = null, preview = null, opened = 0, shape = null, kept = null, waiting = 0, dirty = false, clustered = new Map(), moving = false, last = 0, budget = MOVING[1], pointed = null, index = null, detail = null;
    const gl = mapping.points(gpu), names = mapping.labels();
    const finder = mapping.find({
      meaning: hooks.meaning && ((query) => hooks.meaning(query, passing())),
      n: () => value.n, textOf: hooks.textOf, words: hooks.words, hidden: (row) => hidden[row], say: (words) => { count.textContent = words; },
      light: (rows) => { light = rows; restyle(); }, open: (found) => { light = null; past = []; open(found, true); }, clear: () => { light = null; count.textContent = ""; close(); },
    });
    const legend = mapping.legend(legendRoot, { onColour: (name) => colourBy(name, true), onName: (id) => (chosen && chosen.group === id ? close() : openGroup(id)), onBroad: (at) => (chosen && chosen.group === `broad-${at}` ? close() : openBroad(at)), onAssign: hooks.assign });
    const filters = mapping.filters(filterRoot, { n: () => value.n, removed: () => removed, columns: () => value.colours, column: columnOf, changed: refilter });
    const panel = mapping.panel(panelRoot, legendRoot, filterRoot, { onFilters: () => value && filters.open(value.opened), teach: hooks.teach, undo: hooks.undo,
      onLabel: (label) => { past = []; open({ kind: "lasso", named: true, title: `${label.label} · ${grouped(label.size)}`, rows: byTypicality([...labelled[value.labels.indexOf(label)]]) }); } });
    const side = mapping.side(list, { items: hooks.items, thumbs: hooks.thumbs, colourOf: (row) => ink(row), actions, label: hooks.label, forms: hooks.forms, columns: () => value.colours, cellsChanged: () => { hooks.chosen?.(); if (chosen) open(chosen); }, onPoint: (row) => openPoint(row), onPreview: (row) => { preview = row; render(); }, onClose: () => { close(); plot.focus({ preventScroll: true }); } });
    root.replaceChildren(heading,
      el("div", { class: "sb-map-bar" }, el("div", { class: "sb-segments", role: "group", "aria-label": "Drag mode" }, Object.values(modes)), reset,
        el("div", { class: "sb-map-finder" }, finder.box, finder.how), filtered, count),
      el("div", { class: "sb-map-body" }, el("div", { class: "sb-map-frame" }, plot, tip), el("div", { class: "sb-map-side" }, list, panelRoot)));
    if (!gl) plot.append(el("p", { class: "sb-empty" }, "This browser cannot draw the map because WebGL is disabled. The list and the legend work without it."));
    const pressed = () => { for (const [name, button] of Object.entries(modes)) button.setAttribute("aria-pressed", mode === name ? "true" : "false"); plot.dataset.mode = mode; };
    pressed();

    const tone = (row) => colours[paint.index[row]];
    const ink = (row) => mapping.css(tone(row));
    const alive = (rows) => rows.filter((row) => !hidden[row]);
    const lit = () => light || (chosen && chosen.kind !== "point" ? chosen.rows : null);
    const glows = () => Boolean(light) || Boolean(chosen && (chosen.kind === "find" || chosen.kind === "shown"));

    // Colours, sizes and the order of drawing, made anew when what is lit or the colouring changes; never while the eye moves.
    function restyle() {
      if (!value) return;
      colours = paint.palette();
      side.recolour();
      detail.restyle({ hidden, paint, colours, opacity, shining: lit(), glowing: glows() });
      render();
    }

    const font = () => `600 12.5px ${getComputedStyle(root).fontFamily}`;

    // The part of a flat map that is seen, and a margin for points that lie outside it but reach into it.
    function box(margin) {
      const [width, height] = eye.size(), [a, b] = [over.onMap(eye, [-margin, height + margin]), over.onMap(eye, [width + margin, -margin])];
      return [a[0], a[1], b[0], b[1]];
    }
    function redraw(dots) {
      const [width, height] = eye.size(), live = value.n - value.gone, near = Math.min(2.8, Math.max(1, eye.magnified()) ** 0.4);
      const plain = Math.sqrt((width * height) / Math.max(1, live)), flat = value.dims === 2;
      const base = flat ? Math.max(2.3, Math.min(8.5, plain * 0.4)) * near : Math.max(3.2, Math.min(9, plain * 0.34));
      const shining = lit(), seen = detail.choose(flat ? box(base) : null, moving ? budget : AT_REST), cell = seen.cell * eye.at.scale * CLOSED;
      gl?.draw(eye, { width, height, dots, ground: mapping.bytes(token("--sb-ground")), base, most: 17, thin: flat ? Math.max(0, Math.min(0.6, Math.log2(Math.max(1, eye.magnified())) / 8)) : 0,
        ...seen, cell, shining: Boolean(shining), glowing: glows(), grow: glows() ? (shining && shining.length > 400 ? 1.2 : 1.7) : 1 });
      root.dataset.level = seen.level === detail.EXACT ? "exact" : String(seen.level);
      dot = base;
      drawBelow(over.canvas(below, width, height, dots));
      drawAbove(over.canvas(above, width, height, dots));
    }
    function render() {
      if (dirty || !value || !eye) return;
      dirty = true;
      requestAnimationFrame((now) => {
        dirty = false;
        if (!plot.clientWidth) return;
        if (moving) pace(now);
        redraw(window.devicePixelRatio || 1);
      });
    }
    // While the map moves, it is drawn as finely as keeps it smooth; every point counts at any level.
    function pace(now) {
      const took = last ? now - last : 0;
      last = now;
      if (!took || took > 1000) return;
      budget = Math.max(MOVING[0], Math.min(MOVING[2], budget * (took > SLOW ? FEWER : took < QUICK ? MORE : 1)));
    }

    function drawBelow(pen) {
      if (gl && lines.length) over.contours(pen, eye, lines);
    }
    const ring = (pen, row, radius, colour, wide) => over.ring(pen, row === null || hidden[row] ? null : eye.project(points, row), radius, colour, wide);
    function drawAbove(pen) {
      const accent = token("--sb-accent"), m = eye.matrix();
      if (chosen && chosen.kind === "point") {
        over.links(pen, eye.project(points, chosen.rows[0], m), alive(chosen.rows.slice(1)).map((row) => eye.project(points, row, m)), accent);
        for (const row of chosen.rows.slice(1)) ring(pen, row, 5.5, accent, 1.2);
      }
      outline(pen, m);
      if (gl) names.draw(pen, eye, points, { colourOf: (id) => (!isBroad(id) && paint.kind === "clusters" ? mapping.css(mapping.rgb(clustered.get(id))) : null), focus: chosen && chosen.cluster !== undefined ? new Set([chosen.cluster, broadOf(chosen.cluster)]) : chosen && isBroad(chosen.group) ? new Set([chosen.group, ...topicsOf(chosen.group)]) : null, font: font() });
      if (chosen && chosen.kind === "point") ring(pen, chosen.rows[0], 9.5, token("--sb-ink"), 2.4);
      if (preview !== null) ring(pen, preview, 8, accent, 2.4);
      over.outline(pen, shape || (kept && value.dims === 2 ? kept.map((at) => over.onScreen(eye, at)) : null), accent);
    }

    // A labelled text has an outline in the colour of its label; of very many, and while the map moves, a fair part of them have.
    function outline(pen, m) {
      const marks = mapping.categories().map(mapping.css), total = labelled.reduce((sum, rows) => sum + rows.length, 0), step = Math.max(1, Math.ceil(total / (moving ? OUTLINED : RINGED)));
      labelled.forEach((rows, at) => {
        const places = [];
        for (let i = 0; i < rows.length; i += step) if (!hidden[rows[i]]) places.push(eye.project(points, rows[i], m));
        over.rings(pen, places, dot / 2 + 2.2, marks[at % marks.length]);
      });
    }

    // Names are placed anew once the eye rests; until they are drawn, the map is busy.
    const busy = (on) => root.setAttribute("aria-busy", String(on));
    function settle() {
      clearTimeout(waiting);
      busy(true);
      waiting = setTimeout(() => {
        [moving, last] = [false, 0];
        if (!value || !plot.clientWidth) return busy(false);
        const pen = above.getContext("2d");
        pen.font = font();
        names.place(eye, points, value.n, hidden, (text) => pen.measureText(text).width);
        root.dataset.labels = names.shown().join("\n");
        render();
        requestAnimationFrame(() => busy(false));
      }, REST);
    }
    const stepped = (done) => { moving = !done; busy(true); render(); if (done) settle(); };

    const nearest = (x, y) => mapping.nearest(eye, points, hidden, index, [x, y], HOVER);
    const around = (row) => mapping.beside(eye, points, hidden, index, row, BESIDE);

    mapping.gestures(plot, {
      eye: () => (value ? eye : null), mode: () => mode, moved: () => { moving = true; render(); settle(); }, leave: () => { tip.hidden = true; },
      hover(x, y) {
        const row = value && nearest(x, y);
        plot.classList.toggle("sb-over", value !== null && (row !== null || names.hit(x, y) !== null));
        if (row === null || row === undefined) { tip.hidden = true; return; }
        showTip(row, x, y);
      },
      click(x, y) {
        const row = nearest(x, y), cluster = row === null ? names.hit(x, y) : null;
        if (row !== null) openPoint(row);
        else if (isBroad(cluster)) openBroad(Number(cluster.slice(6)));
        else if (cluster !== null) openCluster(cluster);
        else close();
      },
      shape(outline, done) {
        shape = done ? null : outline;
        if (done) {
          const rows = mapping.within(eye, points, hidden, index, outline);
          if (rows.length) { past = []; open({ kind: "lasso", count: (size) => t`${grouped(size)} selected`, rows: byTypicality(rows), ordered: Boolean(typical) }); kept = value.dims === 2 ? outline.map((at) => over.onMap(eye, at)) : null; }
        }
        render();
      },
    });

    function showTip(row, x, y) {
      pointed = row;
      if (hooks.want && hooks.textOf(row) === undefined) hooks.want(around(row)).then(() => { if (!tip.hidden && pointed === row && hooks.textOf(row) !== undefined) showTip(row, x, y); });
      // What colours the point is always said, even if it is not among the columns that were chosen.
      const cells = hooks.cellsOf(row), own = paint.entries.find((one) => one.at === paint.index[row]);
      const coloured = el("i", { style: { background: ink(row) } }), first = cells.find(([name]) => name === paint.by);
      tip.replaceChildren(...[el("p", { translate: "no" }, hooks.textOf(row) ?? "…"), first ? null : el("span", {}, coloured, paint.kind === "clusters" ? "" : el("span", { translate: "no" }, `${paint.by}:`), el("span", { translate: own && !own.own ? "no" : null }, own ? own.label : "…")),
        ...cells.map((cell) => el("span", {}, cell === first ? coloured : null, mapping.cell(cell, value.colours[0])))].filter(Boolean));
      tip.hidden = false;
      const [width, height] = eye.size();
      tip.style.left = `${Math.max(6, Math.min(x + 14, width - tip.offsetWidth - 6))}px`;
      tip.style.top = `${y + tip.offsetHeight + 24 > height ? Math.max(6, y - tip.offsetHeight - 12) : y + 14}px`;
    }

    function open(next, flying = false) {
      if (next !== chosen) { opened += 1; panel.fold(true); }  // a filter only changes what is listed: it stays at hand for the next one
      const all = next.all || { rows: next.rows, scores: next.scores };  // those that a filter hides come back with it
      chosen = { ...next, all, rows: alive(all.rows), scores: all.scores?.filter((_, i) => !hidden[all.rows[i]]) };
      if (chosen.count) chosen.title = chosen.count(chosen.rows.length);
      [kept, preview, light] = [null, null, null];
      drawLegend();
      const shown = chosen, loaded = side.show(chosen, past.length ? () => { const before = past.pop(); open(before); } : null);
      restyle();
      if (flying && chosen.rows.length) eye.fly(eye.around(points, chosen.rows), stepped);
      root.dataset.listed = String(chosen.rows.length);
      // On a phone the list is below the map; it is only high enough to be scrolled to once its texts are there.
      if (matchMedia("(max-width: 820px)").matches && chosen.kind !== "shown") loaded.then(() => { if (chosen === shown) list.scrollIntoView({ block: "start", behavior: "smooth" }); });
    }
    function close() {
      opened += 1;
      [chosen, past, light, kept, preview] = [null, [], null, null, null];
      finder.clear();
      side.clear();
      delete root.dataset.listed;
      panel.fold(false);
      if (!value) return;
      drawLegend();
      restyle();
    }
    const drawLegend = () => legend.draw(value, paint, hidden, chosen?.group ?? null);
    function rowsWhere(test, onMap = true) {
      const rows = [];
      for (let row = 0; row < value.n; row += 1) if (!(onMap && removed[row]) && test(row)) rows.push(row);
      return rows;
    }
    // Topics are listed most typical text first; ties stay in the order of the file. Sorted by counting, as there may be a million rows.
    function byTypicality(rows) {
      if (!typical) return rows;
      const most = 65535, starts = new Uint32Array(most + 2), made = new Array(rows.length);
      for (const row of rows) starts[most - typical[row] + 1] += 1;
      for (let i = 0; i <= most; i += 1) starts[i + 1] += starts[i];
      for (const row of rows) made[starts[most - typical[row]]++] = row;
      return made;
    }
    const isBroad = (id) => typeof id === "string" && id.startsWith("broad-");
    const topicsOf = (id) => value.broad[Number(id.slice(6))]?.topics || [];
    const broadOf = (cluster) => `broad-${(value.broad || []).findIndex((group) => group.topics.includes(cluster))}`;
    function openGroup(id) {
      past = [];
      const rows = rowsWhere((row) => paint.has(id, row)), isCluster = paint.kind === "clusters", name = paint.entries.find((one) => one.id === id);
      open({ kind: "group", group: id, named: !name.own, count: (size) => `${name.label} · ${grouped(size)}`, rows: byTypicality(rows), ordered: Boolean(typical), without: paint.by, ...(isCluster && id >= 0 ? { cluster: id } : {}) });
    }
    function openBroad(at) {
      past = [];
      const members = new Set(value.broad[at].topics), rows = rowsWhere((row) => members.has(ids[row]));
      open({ kind: "group", group: `broad-${at}`, named: true, count: (size) => `${value.broad[at].label} · ${grouped(size)}`, rows: byTypicality(rows), ordered: Boolean(typical) });
    }
    function openCluster(id) {
      if (paint.kind === "clusters") { openGroup(id); return; }
      past = [];
      const rows = byTypicality(rowsWhere((row) => ids[row] === id));
      open({ kind: "group", cluster: id, ordered: Boolean(typical), named: true, count: (size) => `${clustered.get(id).label} · ${grouped(size)}`, rows, without: value.colours[0] });
    }
    const passing = () => (filters.active() ? rowsWhere((row) => !hidden[row]) : null);  // the texts that pass the filters, or null for all
    async function openPoint(row) {
      const number = (opened += 1), found = await hooks.near(row, passing());
      if (number !== opened) return;  // something else was opened meanwhile, or another map drawn
      if (chosen && !(chosen.kind === "point" && chosen.rows[0] === row)) past.push(chosen);
      if (past.length > 20) past.shift();
      open({ kind: "point", title: found.title || "Nearest to this text", rows: [row, ...(found.rows || [])], scores: [1, ...(found.scores || [])] });
    }
    function actions(of) {
      return [{ words: "Zoom", why: "Zoom to these texts", act: () => eye.fly(eye.around(points, of.rows), stepped) }, ...hooks.actions(of)];
    }

    function resize() {
      const width = plot.clientWidth, height = plot.clientHeight;
      if (!width || !value) return;
      eye.resize(width, height, points, value.n);
      render();
      settle();
    }
    new ResizeObserver(resize).observe(plot);
    onTheme(() => { if (value) { drawLegend(); panel.draw(value); restyle(); } });

    // A column as the page knows it, or null; each is fetched once.
    async function columnOf(name) {
      if (name === value.colours[0]) return mapping.clusterColumn(name, ids, value.cluster_names);
      const key = value.key;
      if (!columns.has(name)) columns.set(name, hooks.column(name).then((data) => (data.error ? null : mapping.column(data))));
      const found = await columns.get(name);
      if (!found && value.key === key) columns.delete(name);  // another try fetches it again
      return value.key === key ? found : null;
    }
    // The colours change once the values are there; until then both map and legend show the earlier ones.
    async function colourBy(name, byHand = false) {
      const number = (wanted += 1), key = value.key, found = name === value.colours[0] ? null : await columnOf(name);
      if (number !== wanted || value.key !== key) return;  // another map has been drawn meanwhile
      if (byHand) hooks.colour?.(name);
      paint = found ? mapping.paint(found) : mapping.paintClusters(value.colours[0], ids, value.cluster_names);
      if (chosen && chosen.group !== undefined) close();
      restyle();
      drawLegend();
      root.dataset.by = paint.by;
    }

    // The rows that pass all filters are drawn, counted and listed; names follow once the visitor lets go.
    function refilter(done) {
      const count = filters.active();
      let left = 0, all = 0;
      for (let row = 0; row < value.n; row += 1) {
        hidden[row] = removed[row] || filters.fails(row) ? 1 : 0;
        if (!removed[row]) all += 1;
        if (!hidden[row]) left += 1;
      }
      value.gone = value.n - left;
      filtered.hidden = !count;
      panel.filtered(count);
      if (count) filtered.replaceChildren(el("b", {}, t`${grouped(left)} of ${grouped(all)} texts`), el("button", { type: "button", class: "sb-small-button", title: filters.describe(), on: { click: openFiltered } }, "List"), el("button", { type: "button", class: "sb-small-button", on: { click: filters.clear } }, "Clear filters"));
      root.dataset.passed = String(left);
      drawLegend();
      restyle();
      if (!done) return;
      names.prepare(value.n, ids, value.cluster_names, hidden, value.broad || []);
      if (chosen) open(chosen);
      settle();
    }
    function openFiltered() {
      past = [];
      open({ kind: "lasso", count: (size) => t`${grouped(size)} texts pass the filters`, rows: byTypicality(rowsWhere(() => true)), ordered: Boolean(typical) });
    }

    function draw(next) {
      const moved = !value || value.layout_key !== next.layout_key || value.key !== next.key;
      value = next;
      points = decode(next.points, Float32Array);
      ids = decode(next.clusters, Int16Array);
      labelled = next.labels.map((label) => decode(label.rows, Int32Array));
      typical = next.typical ? decode(next.typical, Uint16Array) : null;
      removed = next.hidden ? decode(next.hidden, Uint8Array) : new Uint8Array(next.n);
      if (moved || hidden.length !== next.n) hidden = new Uint8Array(next.n);
      clustered = new Map(next.cluster_names.map((name) => [name.id, name]));
      if (moved) {
        opened += 1;
        [chosen, past, light, kept, preview] = [null, [], null, null, null];
        finder.clear();
        side.clear();
        delete root.dataset.listed;
        eye = mapping.camera(next.dims);
        const found = next.dims === 2 ? mapping.grid(points, next.n) : null;
        opacity = found ? mapping.opacities(points, next.n, found) : null;
        lines = found && next.n >= CONTOURS_FROM ? mapping.contours(found) : [];
        last = 0;
        index = mapping.spatial(points, next.n, next.dims);
        detail = mapping.marks(index);
        gl?.place(detail);
      }
      mapping.heading(heading, next.heading);
      panel.draw(next);
      recolour(moved);
      if (chosen && !moved) chosen = chosen.group === undefined && chosen.cluster === undefined ? chosen : { ...chosen, group: undefined, cluster: undefined, kind: "lasso", count: null };
      resize();
      refilter(true);
      root.dataset.drawn = next.layout_key;
    }
    // Colours and filters of a new value: columns of the same map are known; labels and topics may have changed.
    function recolour(moved) {
      const now = JSON.stringify(value.labels), changed = [];
      if (moved) { columns = new Map(); changed.push(...value.colours); }
      else if (now !== edited || labelColumn !== value.label_column) for (const name of [labelColumn, value.label_column]) if (name) { columns.delete(name); changed.push(name); }
      if (!moved) changed.push(value.colours[0]);
      const texts = `${value.layout_key} ${value.n}`;  // a layout has each text once, however often the data repeat it
      filters.draw(value.colours, changed.filter((name) => value.colours.includes(name)), layout !== texts);
      [edited, labelColumn, layout] = [now, value.label_column, texts];
      // The page may have been sent to another colour, by a link; otherwise the visitor's choice stays.
      const by = !moved && offered === value.by && value.colours.includes(paint.by) ? paint.by : value.by;
      offered = value.by;
      if (moved || by === value.colours[0] || paint.kind === "clusters") { paint = mapping.paintClusters(value.colours[0], ids, value.cluster_names); root.dataset.by = paint.by; }
      if (by !== value.colours[0]) colourBy(by);
    }

    function picture(title) {
      redraw(2);
      const made = mapping.picture(root, { size: eye.size(), layers: [below, gpu, above], paint, hidden, title, note: filters.active() ? `${filtered.firstChild.textContent}: ${filters.describe()}` : "" });
      render();
      return made;
    }

    return {
      draw, open, close, openGroup, openCluster, picture, plot, say: (words) => { count.textContent = words; },
      // What an export contains: the columns in use (shown, filtered by or coloured by) and, with a filter, the rows that pass and the filters in words.
      filter() {
        if (!value) return null;
        const columns = [...new Set([...mapping.shownColumns(value.colours), ...filters.columns(), paint.by])];
        return filters.active() ? { columns, rows: mapping.bits(rowsWhere((row) => !filters.fails(row), false), value.n), words: filters.describe() } : { columns };
      },
      spot(row) { const at = eye.project(points, row), box = plot.getBoundingClientRect(); return [box.x + at[0], box.y + at[1]]; },
      // What is drawn now: {level, points: so many visible ones the marks in view stand for}.
      seen(most = AT_REST) {
        const { level, ranges } = detail.choose(value.dims === 2 ? box(0) : null, most), { counts } = detail.styles(level);
        let sum = 0;
        for (let i = 0; i < ranges.length; i += 2) for (let mark = ranges[i]; mark < ranges[i + 1]; mark += 1) sum += counts[mark];
        return { level, points: sum };
      },
      labels: () => names.rects().map((box) => [...box]),
      eye: () => eye,
    };
  }
  window.SB.scene = scene;
})();

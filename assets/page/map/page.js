// The map on the page: texts and lists come from Python, what is done to the map goes there.
(() => {
  "use strict";
  const { views, select, el, mapping } = window.SB;
  const KEPT = 20000;  // texts that the page remembers
  const MANY = 2000;  // rows beyond which a choice is sent as bits, without its order
  const ARRAYS = { points: Float32Array, clusters: Int16Array, typical: Uint16Array, hidden: Uint8Array };

  function save(name, blob) {
    const link = el("a", { href: URL.createObjectURL(blob), download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  views.map = (root, host) => {
    const blank = el("div", { class: "sb-empty sb-map-empty" });
    const frame = el("div", { class: "sb-map" });
    let texts = new Map(), value = null, drawing = null, told = null, shown = "", of = null, edits = 0, arrays = new Map(), newest = 0;
    root.replaceChildren(blank, frame);
    const ask = async (name, request) => { try { return await host.server[name]({ key: value.key, ...request }); } catch { return { error: "The map is no longer loaded. Draw it again." }; } };
    const shownColumns = () => mapping.shownColumns(value.colours);
    const sent = (rows) => (rows.length > MANY ? { bits: mapping.bits(rows, value.n) } : rows);
    const edit = (what) => select(host, "edit", { ...what, ...(what.rows ? { rows: sent(what.rows) } : {}), key: value.key });

    // Of many points, the value holds the addresses of the arrays instead of the arrays; those of the value before are kept, as edits leave most as they are.
    async function fetchArrays(next) {
      const wanted = Object.keys(ARRAYS).filter((name) => next[name]?.url), kept = new Map();
      for (const name of wanted) {
        const { url } = next[name];
        kept.set(url, arrays.get(url) || fetch(url, { headers: { "x-session": window.SB_SESSION() } }).then((answer) => (answer.ok ? answer.arrayBuffer() : Promise.reject(new Error(`${answer.status}`)))));
      }
      arrays = kept;
      const found = await Promise.all(wanted.map((name) => kept.get(next[name].url)));
      return { ...next, ...Object.fromEntries(wanted.map((name, at) => [name, new ARRAYS[name](found[at])])) };
    }

    // Texts come as they are looked at, those around the pointer together.
    async function want(rows) {
      const known = texts, missing = rows.filter((row) => !known.has(row));
      const found = missing.length ? await ask("map_texts", { rows: missing, columns: shownColumns() }) : [];
      if (found.error) return;
      if (known.size > KEPT) known.clear();
      for (const one of found) known.set(one.row, one);  // another map, drawn meanwhile, has texts of its own
    }

    const TYPES = { csv: "text/csv", xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet" };
    async function download(rows, format) {
      const found = await ask("map_file", { rows: sent(rows), format });
      if (found.error) drawing.say(found.error); else save(found.name, new Blob([Uint8Array.from(atob(found.data), (one) => one.charCodeAt(0))], { type: TYPES[format] }));
    }

    // What can be done with a list; a neighbour list counts its text too.
    const actions = (list) => [
      { words: "Search here", why: "Search only these texts", act: () => select(host, "here", { rows: sent(list.rows), key: value.key }) },
      { words: "Use as examples", why: "Add to the basket as similar pairs", act: () => select(host, "examples", { rows: list.rows.slice(0, MANY), key: value.key }) },
      { words: "Download CSV", why: "Download these rows as CSV", act: () => download(list.rows, "csv") },
      { words: "Download XLSX", why: "Download these rows as an Excel workbook", act: () => download(list.rows, "xlsx") },
      { words: "Remove these", why: "Remove these texts from the map and the corpus; Undo restores them", act: () => edit({ do: "remove", rows: list.rows }) },
    ];

    const label = (list) => mapping.ask("Label these", "Label", (name) => edit({ do: "label", rows: list.rows, name }));
    function forms(list) {
      if (list.cluster === undefined) return [];
      const others = value.cluster_names.filter((one) => one.id >= 0 && one.id !== list.cluster), own = value.cluster_names.find((one) => one.id === list.cluster);
      const into = el("select", { "aria-label": "Merge with", on: { change: () => { if (into.value !== "") edit({ do: "merge", clusters: [list.cluster, Number(into.value)] }); } } },
        el("option", { value: "" }, "Merge with…"), others.map((one) => el("option", { value: one.id, translate: "no" }, one.label)));
      return [el("div", { class: "sb-map-cluster" }, el("p", { class: "sb-dim" }, "This topic"),
        mapping.ask("Name of the topic", "Rename", (name) => edit({ do: "rename", cluster: list.cluster, name }), own ? own.label : ""),
        el("div", { class: "sb-map-ask" }, others.length ? into : null, el("button", { type: "button", class: "sb-small-button", on: { click: () => edit({ do: "split", cluster: list.cluster }) } }, "Split in two")))];
    }

    function say(words, ...more) {
      blank.hidden = false;
      frame.hidden = true;
      blank.replaceChildren(el("div", {}, el("p", {}, words), ...more));
    }
    async function load(next) {
      const number = (newest += 1);
      if (next.empty) {
        say(next.empty, el("button", { type: "button", class: "sb-small-button", on: { click: () => document.getElementById("data-open")?.click() } }, "Add data"));
        return;
      }
      if (!next.points.url) { draw(next); return; }
      if (!value || frame.hidden) say("Loading the points…");
      const whole = await fetchArrays(next).catch(() => null);
      if (number !== newest) return;
      if (whole) draw(whole);
      else { arrays = new Map(); say("The map could not be loaded. Draw it again."); }
    }

    function draw(next) {
      value = next;
      blank.hidden = true;
      frame.hidden = false;
      drawing = drawing || window.SB.scene(frame, {
        textOf: (row) => texts.get(row)?.text, cellsOf: (row) => texts.get(row)?.cells || [], want,
        items: async (rows) => {
          const known = texts, found = await ask("map_rows", { rows, columns: shownColumns() });
          if (found.error) return [];
          for (const one of found) known.set(one.row, one);
          return found;
        },
        chosen: () => { texts = new Map(); },
        column: (name) => ask("map_column", { name }),
        words: (query) => ask("map_words", { query }),
        near: (row, rows) => ask("map_near", { row, ...(rows ? { rows: sent(rows) } : {}) }),
        meaning: (query, rows) => ask("map_find", { query, ...(rows ? { rows: sent(rows) } : {}) }),
        colour: (name) => { window.SB.place({ tab: "map", drawn: "1", colour: name === value.colours[0] ? "" : name }); select(host, "colour", name); },
        actions, label, forms, assign: () => edit({ do: "assign" }), undo: () => edit({ do: "undo" }), teach: () => select(host, "teach", 0),
        thumbs: (a, b) => window.SB.thumbs(host, [a, b], texts.get(a)?.text ?? "", texts.get(b)?.text ?? ""),
      });
      window.SB.map = { picture: () => drawing.picture(value.title).toBlob((blob) => save(`${value.title}.png`, blob)), filter: () => JSON.stringify({ ...drawing.filter(), key: value.key }), spot: (row) => drawing.spot(row), eye: () => drawing.eye(), labels: () => drawing.labels() };
      if (next.key !== told) {
        told = next.key;
        texts = new Map();
        window.SB.place({ tab: "map", drawn: "1", colour: next.by === next.colours[0] ? "" : next.by });
        // Other texts were chosen: the settings make room for what is drawn of them.
        if (next.made && next.made.corpus !== of) document.querySelector("#map-settings .label-wrap.open")?.click();
        of = next.made && next.made.corpus;
      }
      else if (next.edits.length || edits) texts = new Map();  // topics and labels are among the columns
      edits = next.edits.length;
      drawing.draw(next);
      if (next.show && next.show.nonce !== shown) {
        shown = next.show.nonce;
        if (next.show.cluster !== undefined) drawing.openCluster(next.show.cluster);
        else if (next.show.rows) drawing.open({ kind: "shown", title: next.show.title, rows: next.show.rows }, true);
        else drawing.close();
      }
    }
    return load;
  };
})();

// Filters by any column: a histogram that is brushed, or a list of bars. Each counts the rows that pass all other filters (cross-filtering).
(() => {
  "use strict";
  const { el, grouped, mapping, t } = window.SB;
  const { BLANK, OTHER } = mapping;
  const SHOWN = 8, LISTED = 600, PLAYED = 900;  // LISTED: values that are listed at once; a column may have 100,000

  // told: {n(), removed() → Uint8Array, columns() → [name], column(name) → Promise<column | null>, changed(done): the rows that pass have changed;
  //        done: the visitor has let go}
  function filters(root, told) {
    let parts = new Map(), fails = new Uint8Array(0), begun = false;
    const passes = (part) => (row) => !told.removed()[row] && fails[row] - part.out[row] === 0;
    const isOn = (part) => Boolean(part.range || part.chosen.size);

    // Mark the rows that fail one filter, and count for each row how many it fails.
    function evaluate(part) {
      const { column, range, chosen, withBlank } = part, n = told.n();
      for (let row = 0; row < n; row += 1) {
        let held = true;
        if (range) { const value = column.numbers[row]; held = Number.isNaN(value) ? withBlank : value >= range[0] && value <= range[1]; }
        else if (chosen.size) { held = false; mapping.each(column, row, (code) => { held = held || chosen.has(code); }); }
        const out = held ? 0 : 1;
        fails[row] += out - part.out[row];
        part.out[row] = out;
      }
    }
    function change(part, done = true) {
      evaluate(part);
      for (const other of parts.values()) if (other.column) other.count();
      told.changed(done);
    }
    const codeOf = (column, label) => { const code = column.labels ? column.labels.indexOf(label) : -1; return code < 0 ? null : code; };
    const labelOf = (column, code) => (code === BLANK ? column.blank || "blank" : code === OTHER ? "other" : column.labels[code]);

    // --- numbers and dates
    function brushed(part) {
      const { column } = part, kept = mapping.bins(column), isDate = column.kind === "date", blanks = column.numbers.reduce((sum, value) => sum + (Number.isNaN(value) ? 1 : 0), 0);
      const bars = el("div", { class: "sb-map-bars", "aria-hidden": "true" }, Array.from({ length: kept.count }, () => el("i", {}, el("b", {}))));
      const field = (name) => el("input", { type: isDate ? "date" : "number", step: isDate ? null : "any", "aria-label": name, translate: "no", on: { change: () => typed() } });
      const [from, to] = [field("From"), field("To")];
      const whole = [kept.low, kept.high];
      const blank = el("label", { class: "sb-map-blank", hidden: !blanks }, el("input", { type: "checkbox", on: { change: (event) => { part.withBlank = event.target.checked; if (part.range) change(part); } } }), el("span", {}, column.unreadable ? t`Include ${grouped(blanks)} blank or unreadable` : t`Include ${grouped(blanks)} blank`));
      const read = (box, fallback) => { const value = isDate ? mapping.days(box.value) : parseFloat(box.value); return Number.isNaN(value) || box.value === "" ? fallback : value; };
      const typed = () => { const ends = [read(from, whole[0]), read(to, whole[1])]; set(ends[0] <= whole[0] && ends[1] >= whole[1] ? null : ends); };
      const set = (range, done = true) => { part.range = range; change(part, done); };
      let start = null;
      const binAt = (event) => { const box = bars.getBoundingClientRect(); return Math.max(0, Math.min(kept.count - 1, Math.floor(((event.clientX - box.left) / box.width) * kept.count))); };
      bars.addEventListener("pointerdown", (event) => { if (event.button) return; bars.setPointerCapture(event.pointerId); start = { bin: binAt(event), before: part.range }; drag(event, false); });
      const drag = (event, done) => { if (!start) return; const bin = binAt(event); set(kept.range(Math.min(start.bin, bin), Math.max(start.bin, bin)), done); };
      bars.addEventListener("pointermove", (event) => drag(event, false));
      bars.addEventListener("pointerup", (event) => {
        const again = start && start.before && binAt(event) === start.bin, [low, high] = again ? kept.range(start.bin, start.bin) : [];
        if (again && start.before[0] === low && start.before[1] === high) set(null); else drag(event, true);  // a second click on a bar takes it back
        start = null;
      });
      bars.addEventListener("pointercancel", () => { start = null; });
      part.count = () => {
        const sizes = mapping.histogram(column, kept, passes(part)), most = Math.max(1, ...sizes);
        bars.childNodes.forEach((bar, bin) => {
          const [low, high] = kept.range(bin, bin), ends = kept.ends(bin), inside = !part.range || (high >= part.range[0] && low <= part.range[1]);
          bar.firstChild.style.height = `${sizes[bin] ? Math.max(4, (100 * sizes[bin]) / most) : 0}%`;
          bar.title = `${mapping.write(column, ends[0])} – ${mapping.write(column, ends[1])}: ${grouped(sizes[bin])}`;
          bar.classList.toggle("sb-out", !inside);
        });
        const [low, high] = part.range || whole;
        for (const [box, value] of [[from, low], [to, high]]) if (document.activeElement !== box) box.value = isDate ? mapping.iso(value) : String(value);  // all digits: the ends are read back
        player?.show();
      };
      part.text = () => t`${mapping.write(column, part.range[0])} to ${mapping.write(column, part.range[1])}` + (part.withBlank && blanks ? t`, or blank` : "");
      const player = isDate && kept.high > kept.low ? timeline(part, kept, set) : null;
      return [bars, el("div", { class: "sb-map-ends" }, from, el("span", { class: "sb-dim" }, "to"), to, column.unit ? el("span", { class: "sb-dim", translate: "no" }, column.unit.replace("{}", "").trim()) : null), player?.node, blank];
    }

    // A slider over calendar periods, with a button that goes through them one after the other.
    function timeline(part, kept, set) {
      const names = { day: "Day", week: "Week", month: "Month", year: "Year" };
      let all = [], at = -1, timer = 0;
      const unit = el("select", { "aria-label": "Period", on: { change: () => { stop(); divide(); } } }, Object.entries(names).map(([name, label]) => el("option", { value: name }, label)));
      unit.value = mapping.periodOf(kept.low, kept.high, mapping.MOST_PERIODS);
      const slider = el("input", { type: "range", min: -1, step: 1, "aria-label": "Date", on: { input: () => { stop(); go(Number(slider.value), false); }, change: () => go(Number(slider.value)) } });
      const button = el("button", { type: "button", class: "sb-small-button sb-map-play", on: { click: () => (timer ? stop() : play()) } });
      const name = el("output", { translate: "no" });
      const go = (period, done = true) => { at = period; const one = all[period]; set(one ? [one.from, one.to] : null, done); };
      const label = () => { button.textContent = timer ? "❚❚" : "▶"; for (const key of ["aria-label", "title"]) button.setAttribute(key, timer ? "Pause" : "Play"); };
      function stop() { clearInterval(timer); timer = 0; label(); }
      function play() {
        if (at >= all.length - 1) at = -1;
        const step = () => { if (!root.isConnected || at >= all.length - 1) { stop(); return; } go(at + 1); };
        timer = setInterval(step, PLAYED);
        label();
        step();
      }
      function divide() { all = mapping.periods(kept.low, kept.high, unit.value); slider.max = all.length - 1; if (at >= 0) go(-1); show(); }
      function show() {
        at = part.range ? all.findIndex((one) => one.from === part.range[0] && one.to === part.range[1]) : -1;
        slider.value = at;
        slider.setAttribute("aria-valuetext", all[at]?.name ?? "All");
        name.value = all[at]?.name ?? "";
      }
      part.stop = stop;
      label();
      divide();
      return { show, node: el("div", { class: "sb-map-time" }, button, slider, name, unit) };
    }

    // --- categories, lists and booleans
    function listed(part) {
      const { column } = part, items = el("ul", {}), none = el("p", { class: "sb-dim", role: "status", hidden: true }), whole = mapping.tally(column, () => true), codes = [...column.labels.keys()].sort((a, b) => whole.of(b) - whole.of(a));
      let all = false, wanted = "";
      const find = el("input", { type: "search", placeholder: "Find a value", "aria-label": "Find a value", hidden: codes.length <= SHOWN, on: { input: () => { wanted = find.value.trim().toLowerCase(); part.count(); } } });
      const more = el("button", { type: "button", class: "sb-plain-button", on: { click: () => { all = !all; part.count(); } } });
      const toggle = (code) => { if (!part.chosen.delete(code)) part.chosen.add(code); change(part); };
      const buttons = new Map();
      const entry = (code) => {
        if (!buttons.has(code)) {
          const bar = el("b", { class: "sb-map-bar-fill" }), number = el("b", {});
          const button = el("button", { type: "button", on: { click: () => toggle(code) } }, bar, el("span", { translate: code < 0 ? null : "no" }, labelOf(column, code)), number);
          buttons.set(code, { bar, number, button, item: el("li", {}, button) });
        }
        return buttons.get(code);
      };
      part.count = () => {
        const sizes = mapping.tally(column, passes(part)), most = codes.reduce((size, code) => Math.max(size, sizes.of(code)), 1);
        const found = codes.filter((code, place) => (wanted ? column.labels[code].toLowerCase().includes(wanted) : all || place < SHOWN || part.chosen.has(code))), seen = found.filter((code, place) => place < LISTED || part.chosen.has(code)), left = found.length - seen.length;
        for (const code of [OTHER, BLANK]) if (!wanted && (sizes.of(code) || part.chosen.has(code))) seen.push(code);
        const shown = seen.map(entry);
        shown.forEach(({ bar, number, button }, i) => {
          const size = sizes.of(seen[i]);
          bar.style.width = `${Math.min(100, (100 * size) / most)}%`;
          number.textContent = grouped(size);
          button.setAttribute("aria-pressed", String(part.chosen.has(seen[i])));
          button.classList.toggle("sb-out", part.chosen.size > 0 && !part.chosen.has(seen[i]));
        });
        if (shown.length !== items.childNodes.length || shown.some(({ item }, i) => items.childNodes[i] !== item)) items.replaceChildren(...shown.map(({ item }) => item));
        none.hidden = !left && (!wanted || seen.length > 0);
        if (left) none.textContent = t`${grouped(left)} more values; type a part of a value above to find it`;
        else if (!none.hidden) none.textContent = whole.of(OTHER) ? t`This filter offers the ${grouped(codes.length)} most frequent values; none of them contains this text.` : "No value contains this text.";
        more.hidden = Boolean(wanted) || codes.length <= SHOWN;
        more.textContent = all ? "Show fewer" : column.distinct > Math.min(codes.length, LISTED) ? t`Show the ${grouped(Math.min(codes.length, LISTED))} most frequent of ${grouped(column.distinct)}` : t`Show all ${grouped(codes.length)}`;
      };
      part.text = () => [...part.chosen].map((code) => labelOf(column, code)).join(", ");
      return [find, items, none, more];
    }

    async function load(part) {
      if (part.column || part.loading) return;
      part.loading = true;
      const found = await told.column(part.name);
      part.loading = false;
      if (parts.get(part.name) !== part) return;
      if (!found) { part.body.replaceChildren(el("p", { class: "sb-dim" }, "The values could not be loaded. Close this filter and open it again.")); return; }
      part.column = found;
      const drawn = found.numbers ? brushed(part) : listed(part);
      part.body.replaceChildren(...[...drawn, found.unreadable ? el("p", { class: "sb-dim" }, t`${grouped(found.unreadable)} cells could not be read`) : null].filter(Boolean));
      part.count();
    }

    // Read the values of a column again; what was chosen among them stays as far as it still exists.
    async function reload(part) {
      if (!part?.column) return;
      const before = part.column, chosen = [...part.chosen].map((code) => before.labels[code] ?? code);
      part.column = null;
      await load(part);
      if (!part.column || !isOn(part)) return;
      part.chosen = new Set(chosen.map((one) => (typeof one === "number" ? one : codeOf(part.column, one))).filter((code) => code !== null));
      if (before.kind !== part.column.kind) Object.assign(part, { range: null, chosen: new Set() });
      change(part);
    }

    function create(name, at) {
      const part = { name, out: new Uint8Array(told.n()), range: null, chosen: new Set(), withBlank: false, column: null, text: () => "", count: () => {}, stop: () => {} };
      part.body = el("div", { class: "sb-map-filter-body" });
      part.box = el("details", { class: "sb-map-filter", "data-column": name, on: { toggle: () => { if (part.box.open) load(part); } } }, el("summary", { translate: at ? "no" : null }, name), part.body);
      return part;
    }

    return {
      // names: columns of a map; changed: those whose values may have changed, such as labels and topics; fresh: the texts are others.
      draw(names, changed, fresh) {
        if (fresh || names.join("\n") !== [...parts.keys()].join("\n")) {
          const before = fresh ? new Map() : parts;
          for (const part of parts.values()) if (before.get(part.name) !== part || !names.includes(part.name)) part.stop();
          if (fresh) { fails = new Uint8Array(told.n()); begun = false; }
          for (const [name, part] of before) if (!names.includes(name)) for (let row = 0; row < fails.length; row += 1) fails[row] -= part.out[row];
          parts = new Map(names.map((name, at) => [name, before.get(name) || create(name, at)]));
          root.replaceChildren(...[...parts.values()].map((part) => part.box));
        }
        for (const name of changed) reload(parts.get(name));
        for (const part of parts.values()) if (part.column) part.count();
      },
      open(names) { if (!begun) for (const name of names) if (parts.has(name)) parts.get(name).box.open = true; begun = true; },
      clear() {
        for (const part of parts.values()) { part.stop(); if (isOn(part)) { Object.assign(part, { range: null, chosen: new Set() }); evaluate(part); } }
        for (const part of parts.values()) if (part.column) part.count();
        told.changed(true);
      },
      active: () => [...parts.values()].filter(isOn).length,
      columns: () => [...parts.values()].filter(isOn).map((part) => part.name),
      fails: (row) => fails[row] > 0,
      describe: () => [...parts.values()].filter(isOn).map((part) => `${part.name}: ${part.text()}`).join("; "),
    };
  }

  mapping.filters = filters;
})();

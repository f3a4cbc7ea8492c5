// The legend: each group with its colour, size and share; a click shows that group alone and lists it. Topics are listed under their broad topics.
(() => {
  "use strict";
  const { el, grouped } = window.SB;
  const FILTERED = 14;
  const WIDTH = 300, LETTER = 6.5, GAP = 8;  // pixels of the scale at its narrowest, of a letter below it, and between two texts
  const percent = (share) => (share > 0 && share < 0.005 ? "<1 %" : `${Math.round(100 * share)} %`);

  // told: {onColour(name), onName(id), onBroad(index), onAssign?()}
  function legend(root, told) {
    let wanted = "", names = [], focus = null, shown = "", offered = "", broad = [], total = 1, clusters = false;
    const collapsed = new Set();  // labels of broad topics
    const choice = el("select", { class: "sb-map-colour", on: { change: () => told.onColour(choice.value) } });
    const filter = el("input", { type: "search", on: { input: () => { wanted = filter.value.trim().toLowerCase(); list(); } } });
    const items = el("ul", {});
    const scale = el("div", { class: "sb-map-scale" }), note = el("p", { class: "sb-dim sb-map-order", hidden: true });
    root.replaceChildren(el("label", { class: "sb-map-by" }, el("span", { class: "sb-dim" }, "Color by"), choice), filter, scale, items, note);

    function list() {
      const seen = names.filter((name) => !wanted || name.label.toLowerCase().includes(wanted));
      // A button that is drawn anew between press and release hears no click: what is the same stays.
      const now = JSON.stringify([focus, wanted ? [] : broad, [...collapsed], total, seen.map((name) => [name.id, name.label, name.size, name.hue, name.css])]);
      if (now === shown) return;
      shown = now;
      const facts = (size) => [el("b", {}, grouped(size)), el("b", { class: "sb-map-share" }, percent(size / total))];
      const entry = (name, kind = "", more = null) => el("li", { class: kind }, el("button", { type: "button", translate: name.own ? null : "no", title: name.label, "aria-pressed": focus === name.id ? "true" : "false", on: { click: () => told.onName(name.id) } },
        el("i", { style: { background: name.css } }), el("span", {}, name.label), facts(name.size)), more);
      if (!wanted && broad.length) { items.replaceChildren(...tree(seen, entry, facts)); return; }
      let hue = null;
      items.replaceChildren(...seen.map((name) => {
        const first = name.hue !== undefined && name.hue !== hue && hue !== null;
        hue = name.hue;
        return name.id < 0 ? outliers(name, entry) : entry(name, first ? "sb-map-hue" : "");  // outliers, other values and blanks stand apart
      }));
    }

    // Two levels: broad topics, which can be collapsed, and their topics, largest first.
    function tree(seen, entry, facts) {
      const byId = new Map(seen.map((name) => [name.id, name])), left = new Map(byId);
      const headings = broad.map((group, at) => {
        const members = group.topics.map((id) => byId.get(id)).filter(Boolean).sort((a, b) => b.size - a.size), open = !collapsed.has(group.label);
        for (const name of members) left.delete(name.id);
        if (!members.length) return null;
        const toggle = () => { if (!collapsed.delete(group.label)) collapsed.add(group.label); list(); items.querySelectorAll(".sb-map-fold")[at]?.focus(); };
        return el("li", { class: "sb-map-broad" },
          el("div", { class: "sb-map-heading" },
            el("button", { type: "button", class: "sb-map-fold", "aria-expanded": String(open), "aria-label": open ? "Collapse" : "Expand", title: open ? "Collapse" : "Expand", on: { click: toggle } }, open ? "▾" : "▸"),
            el("button", { type: "button", translate: "no", title: group.label, "aria-pressed": focus === `broad-${at}` ? "true" : "false", on: { click: () => told.onBroad(at) } }, el("span", {}, group.label), facts(members.reduce((sum, name) => sum + name.size, 0)))),
          open ? el("ul", {}, members.map((name) => entry(name))) : null);
      });
      return [...headings.filter(Boolean), ...[...left.values()].map((name) => (name.id < 0 ? outliers(name, entry) : entry(name)))];
    }
    const outliers = (name, entry) => entry(name, "sb-map-outliers", told.onAssign && clusters ? el("button", { type: "button", class: "sb-small-button", title: "Assign each of these texts to the topic whose texts are most similar; Undo reverts it", on: { click: told.onAssign } }, "Assign to nearest") : null);

    // The share of the scale that a text and the gap beside it take, at most.
    const wide = (text) => (text.length * LETTER + GAP) / WIDTH;
    // From low to high, as the points are drawn, with a tick at round values; values beyond an end have its colour.
    function drawScale(found, css, shade) {
      const end = (value, count, sign) => (count ? `${sign} ${found.text(value)}` : found.text(value));
      const ends = [el("span", {}, end(found.low, found.under, "≤")), el("span", {}, end(found.high, found.over, "≥"))];
      const [first, last] = ends.map((one) => wide(one.textContent));
      const inner = found.ticks.filter((one) => one.share - wide(one.text) / 2 > first && one.share + wide(one.text) / 2 < 1 - last);
      scale.replaceChildren(
        el("i", { style: { background: `linear-gradient(90deg, ${Array.from({ length: 17 }, (_, i) => css(shade(i / 16))).join(", ")})` } }),
        el("div", { class: "sb-map-ticks", translate: "no" }, ends[0], inner.map((one) => el("span", { class: "sb-map-tick", style: { left: `${100 * one.share}%` } }, one.text)), found.low === found.high ? null : ends[1]));
    }

    return {
      // paint: see paint.js; hidden: rows that are not drawn and not counted.
      draw(value, paint, hidden, chosen) {
        const { css, shade } = window.SB.mapping, palette = paint.palette(), sizes = paint.sizes(hidden);
        clusters = paint.kind === "clusters";
        names = paint.entries.map((one, place) => ({ ...one, size: sizes[place], css: css(palette[one.at]) })).filter((one) => one.size || !clusters);
        focus = chosen;
        broad = clusters ? value.broad || [] : [];
        total = 0;
        for (let row = 0; row < hidden.length; row += 1) if (!hidden[row]) total += 1;
        total = Math.max(1, total);
        const colours = JSON.stringify(value.colours);
        if (colours !== offered) choice.replaceChildren(...value.colours.map((name, at) => el("option", { value: name, translate: at ? "no" : null }, name)));
        offered = colours;
        choice.value = paint.by;
        const many = names.length > FILTERED;
        filter.hidden = !many;
        for (const name of ["placeholder", "aria-label"]) filter.setAttribute(name, clusters ? "Find a topic" : "Find a value");
        if (!many) { wanted = ""; filter.value = ""; }
        scale.hidden = !paint.axis;
        if (paint.axis) drawScale(paint.axis, css, shade);
        note.hidden = !paint.note;
        note.textContent = paint.note || "";
        list();
      },
    };
  }

  window.SB.mapping.legend = legend;
})();

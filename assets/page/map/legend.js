// The legend: each group with its colour, size and share; a click shows that group alone and lists it. Topics are listed under their broad topics.
(() => {
  "use strict";
  const { el, grouped } = window.SB;
  const FILTERED = 14;
  const percent = (share) => (share > 0 && share < 0.005 ? "<1 %" : `${Math.round(100 * share)} %`);

  // told: {onColour(name), onName(id), onBroad(index), onAssign?()}
  function legend(root, told) {
    let wanted = "", names = [], focus = null, shown = "", broad = [], total = 1, clusters = false;
    const collapsed = new Set();  // labels of broad topics
    const choice = el("select", { class: "sb-map-colour", "aria-label": "Colour by", on: { change: () => told.onColour(choice.value) } });
    const filter = el("input", { type: "search", placeholder: "Find a group", "aria-label": "Find a group", on: { input: () => { wanted = filter.value.trim().toLowerCase(); list(); } } });
    const items = el("ul", {});
    const scale = el("div", { class: "sb-map-scale" });
    root.replaceChildren(el("label", { class: "sb-map-by" }, el("span", { class: "sb-dim" }, "Color by"), choice), filter, scale, items);

    function list() {
      const { css, rgb } = window.SB.mapping;
      const seen = names.filter((name) => !wanted || name.label.toLowerCase().includes(wanted));
      // A button that is drawn anew between press and release hears no click: what is the same stays.
      const now = JSON.stringify([focus, wanted ? [] : broad, [...collapsed], total, seen.map((name) => [name.id, name.label, name.size, name.hue, css(rgb(name))])]);
      if (now === shown) return;
      shown = now;
      const facts = (size) => [el("b", {}, grouped(size)), el("b", { class: "sb-map-share" }, percent(size / total))];
      const entry = (name, kind = "", more = null) => el("li", { class: kind }, el("button", { type: "button", translate: name.id < 0 ? null : "no", title: name.label, "aria-pressed": focus === name.id ? "true" : "false", on: { click: () => told.onName(name.id) } },
        el("i", { style: { background: css(rgb(name)) } }), el("span", {}, name.label), facts(name.size)), more);
      if (!wanted && broad.length) { items.replaceChildren(...tree(seen, entry, facts)); return; }
      let hue = null;
      items.replaceChildren(...seen.map((name) => {
        const first = name.hue !== undefined && name.hue !== hue && hue !== null;
        hue = name.hue;
        return name.id < 0 ? outliers(name, entry) : entry(name, first ? "sb-map-hue" : "");
      }));
    }

    // Two levels: broad topics, which can be collapsed, and their topics, largest first.
    function tree(seen, entry, facts) {
      const byId = new Map(seen.map((name) => [name.id, name])), left = new Map(byId);
      const headings = broad.map((group, at) => {
        const members = group.topics.map((id) => byId.get(id)).filter(Boolean).sort((a, b) => b.size - a.size), open = !collapsed.has(group.label);
        for (const name of members) left.delete(name.id);
        const toggle = () => { if (!collapsed.delete(group.label)) collapsed.add(group.label); list(); items.querySelectorAll(".sb-map-fold")[at]?.focus(); };
        return el("li", { class: "sb-map-broad" },
          el("div", { class: "sb-map-heading" },
            el("button", { type: "button", class: "sb-map-fold", "aria-expanded": String(open), "aria-label": open ? "Collapse" : "Expand", title: open ? "Collapse" : "Expand", on: { click: toggle } }, open ? "▾" : "▸"),
            el("button", { type: "button", translate: "no", title: group.label, "aria-pressed": focus === `broad-${at}` ? "true" : "false", on: { click: () => told.onBroad(at) } }, el("span", {}, group.label), facts(members.reduce((sum, name) => sum + name.size, 0)))),
          open ? el("ul", {}, members.map((name) => entry(name))) : null);
      });
      return [...headings, ...[...left.values()].map((name) => (name.id < 0 ? outliers(name, entry) : entry(name)))];
    }
    const outliers = (name, entry) => entry(name, "sb-map-outliers", told.onAssign && clusters ? el("button", { type: "button", class: "sb-small-button", title: "Assign each of these texts to the cluster whose texts are most similar; Undo reverts it", on: { click: told.onAssign } }, "Assign to nearest") : null);

    return {
      draw(value, chosen) {
        const { css, viridis } = window.SB.mapping;
        [names, focus] = [value.shades ? [] : value.names, chosen];
        clusters = value.by === value.colours[0];
        broad = clusters ? value.broad || [] : [];
        total = Math.max(1, value.n - (value.gone || 0));
        choice.replaceChildren(...value.colours.map((name, at) => el("option", { value: name, translate: at ? "no" : null }, name)));
        choice.value = value.by;
        const many = names.length > FILTERED;
        filter.hidden = !many;
        if (!many) { wanted = ""; filter.value = ""; }
        scale.hidden = !value.shades;
        if (value.shades) scale.replaceChildren(
          el("i", { style: { background: `linear-gradient(90deg, ${[0, 0.25, 0.5, 0.75, 1].map((share) => css(viridis(share))).join(", ")})` } }),
          el("span", { translate: "no" }, value.shade_low), el("span", { translate: "no" }, value.shade_high));
        list();
      },
    };
  }

  window.SB.mapping.legend = legend;
})();

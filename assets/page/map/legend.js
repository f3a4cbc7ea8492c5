// The legend: each group with its colour and size; a click shows that group alone and lists it.
(() => {
  "use strict";
  const { el, grouped } = window.SB;
  const FILTERED = 14;

  // told: {colours: [names], by, onColour(name), onName(id)}
  function legend(root, told) {
    let wanted = "", names = [], focus = null, shown = "";
    const choice = el("select", { class: "sb-map-colour", "aria-label": "Color by", on: { change: () => told.onColour(choice.value) } });
    const filter = el("input", { type: "search", placeholder: "Find a group", "aria-label": "Find a group", on: { input: () => { wanted = filter.value.trim().toLowerCase(); list(); } } });
    const items = el("ul", {});
    const scale = el("div", { class: "sb-map-scale" });
    root.replaceChildren(el("label", { class: "sb-map-by" }, el("span", { class: "sb-dim" }, "Color by"), choice), filter, scale, items);

    function list() {
      const { css, rgb } = window.SB.mapping;
      const seen = names.filter((name) => !wanted || name.label.toLowerCase().includes(wanted));
      // A button that is drawn anew between press and release hears no click: what is the same stays.
      const now = JSON.stringify([focus, seen.map((name) => [name.id, name.label, name.size, name.hue, css(rgb(name))])]);
      if (now === shown) return;
      shown = now;
      let hue = null;
      items.replaceChildren(...seen.map((name) => {
        const first = name.hue !== undefined && name.hue !== hue && hue !== null;
        hue = name.hue;
        return el("li", { class: first ? "sb-map-hue" : "" }, el("button", { type: "button", translate: name.id < 0 ? null : "no", title: name.label, "aria-pressed": focus === name.id ? "true" : "false", on: { click: () => told.onName(name.id) } },
          el("i", { style: { background: css(rgb(name)) } }), el("span", {}, name.label), el("b", {}, grouped(name.size))));
      }));
    }

    return {
      draw(value, chosen) {
        const { css, viridis } = window.SB.mapping;
        [names, focus] = [value.shades ? [] : value.names, chosen];
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

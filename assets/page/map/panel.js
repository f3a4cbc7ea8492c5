// Below the list of texts: the legend, the filters and the visitor's labels, one of them at a time; and what the map was made of.
(() => {
  "use strict";
  const { el, grouped, t, mapping } = window.SB;
  const LOW = 500;  // pixels of the side; less has no room for a list and something else

  // told: {onFilters(): they were opened, onLabel(label), teach?(), undo?()}
  function panel(root, legend, filters, told) {
    const labels = el("div", { class: "sb-map-labels" }), labelled = el("div", {}, labels);
    const bodies = { legend, filters, labels: labelled };
    const done = el("span", { class: "sb-dim", role: "status" }), back = told.undo ? el("button", { type: "button", class: "sb-small-button", on: { click: told.undo } }, "Undo") : null;
    const marks = el("div", { class: "sb-map-marks", hidden: true }, done, back);
    const counts = { filters: el("b", {}), labels: el("b", {}) };
    const tab = (name, words) => el("button", { type: "button", role: "tab", "data-part": name, on: { click: () => open(name, true), keydown: (event) => walk(event, name) } }, el("span", {}, words), counts[name] || null);
    const tabs = { legend: tab("legend", "Legend"), filters: tab("filters", "Filters"), labels: tab("labels", "Labels") };
    let shown = "legend", known = -1;
    if (told.teach) labelled.append(el("button", { type: "button", class: "sb-small-button sb-map-teach", title: "Open Fine-tune with the labelled texts", on: { click: told.teach } }, "Fine-tune on these"));
    for (const [name, body] of Object.entries(bodies)) { body.setAttribute("role", "tabpanel"); body.setAttribute("aria-label", tabs[name].firstChild.textContent); }
    root.append(marks, el("div", { class: "sb-segments sb-map-parts", role: "tablist" }, Object.values(tabs)), ...Object.values(bodies));

    function walk(event, name) {
      const names = Object.keys(tabs).filter((one) => !tabs[one].hidden), by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!by) return;
      event.preventDefault();
      const next = names[(names.indexOf(name) + by + names.length) % names.length];
      open(next, true);
      tabs[next].focus();
    }
    // Beside a list on a low screen only the tabs are seen, until one of them is pressed.
    function open(name, byHand = false) {
      shown = name;
      if (byHand) root.classList.remove("sb-map-folded");
      for (const [one, body] of Object.entries(bodies)) {
        body.hidden = one !== name;
        tabs[one].setAttribute("aria-selected", String(one === name));
        tabs[one].tabIndex = one === name ? 0 : -1;
      }
      if (name === "filters") told.onFilters();
    }
    open("legend");

    return {
      open,
      fold(isListed) { root.classList.toggle("sb-map-folded", isListed && root.parentNode.clientHeight < LOW && root.parentNode.clientHeight > 0); },
      filtered(count) { counts.filters.textContent = count ? grouped(count) : ""; },
      draw(value) {
        const last = value.edits.at(-1) || "", colours = mapping.categories().map(mapping.css);
        marks.hidden = !last;
        done.textContent = last;
        done.title = last;
        counts.labels.textContent = value.labels.length ? grouped(value.labels.length) : "";
        tabs.labels.hidden = !value.labels.length;
        labels.replaceChildren(...value.labels.map((label, at) => el("button", { type: "button", class: "sb-map-label", title: "List these texts", on: { click: () => told.onLabel(label) } },
          el("i", { style: { "border-color": colours[at % colours.length] } }), el("span", { translate: "no" }, label.label), el("b", {}, grouped(label.size)))));
        const total = value.labels.reduce((sum, label) => sum + label.size, 0);
        if (known >= 0 && total > known) open("labels", true);
        else if (!value.labels.length && shown === "labels") open("legend");
        known = total;
      },
    };
  }

  const isSample = (name) => (window.SB_PAGE?.own ?? []).includes(name);
  // The heading: name of the data, its text columns, the model, and the rows that were used and skipped.
  mapping.heading = (node, made) => {
    node.hidden = !made;
    if (!made) return;
    const fact = (words, title = null) => el("span", { class: "sb-dim", title }, words);
    node.replaceChildren(el("strong", { translate: isSample(made.name) ? null : "no" }, made.name),
      fact(made.columns.length > 1 ? t`text columns: ${made.columns.join(", ")}` : t`text column: ${made.columns[0]}`), fact(t`model: ${made.model}`),
      fact(made.skipped ? t`${grouped(made.used)} rows used, ${grouped(made.skipped)} skipped` : t`${grouped(made.used)} rows used`, made.reasons || null));
  };

  mapping.panel = panel;
})();

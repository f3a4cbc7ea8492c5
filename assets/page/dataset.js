// The dialog of the data: its first rows, a type for each column, the columns of the texts, and what it is good for.
(() => {
  "use strict";
  const { views, el, select, sentences, t } = window.SB;
  const NAMES = { text: "Text", number: "Number", date: "Date", category: "Category", id: "Identifier", list: "List" };

  views.dialoghead = (root) => (value) => root.replaceChildren(el("div", { class: "sb-drawer-head" }, el("h2", {}, value.title),
    el("button", { type: "button", class: "sb-icon-button", "aria-label": "Close", on: { click: () => window.SB.drawer(value.dialog, false) } }, "✕")));

  views.dataset = (root, host) => (value) => {
    const used = value.columns.filter((one) => one.order >= 0).sort((a, b) => a.order - b.order).map((one) => one.name);
    const send = (action, item) => { root.setAttribute("aria-busy", "true"); select(host, action, item); };
    root.removeAttribute("aria-busy");

    // The badge of a column is a list of types.
    const badge = (one) => {
      const types = el("select", { class: `sb-type sb-type-${one.type}`, "aria-label": t`Type of the column ${one.name}`, title: one.currencies.length ? t`Amounts in several currencies (${one.currencies.join(", ")}) are not read as numbers` : one.detected ? "Detected; choose another type to change it" : "Chosen by you",
        on: { change: () => send("type", { name: one.name, type: types.value }) } },
        value.types.map((type) => el("option", { value: type, selected: type === one.type }, NAMES[type])));
      return types;
    };
    const text = (one) => {
      const box = el("input", { type: "checkbox", checked: one.order >= 0, disabled: one.order >= 0 && used.length === 1, on: { change: () =>
        send("columns", { columns: box.checked ? [...used, one.name] : used.filter((name) => name !== one.name) }) } });
      const place = used.length > 1 && one.order >= 0 ? el("span", { class: "sb-text-order" }, String(one.order + 1)) : null;
      return one.type === "text" ? el("label", { class: "sb-text-column" }, box, "Use as text", place) : null;
    };
    // Of documents, what a search finds and a point of the map is.
    const unit = (chosen) => el("fieldset", { class: "sb-unit" }, el("legend", {}, "Search and map"),
      [["passages", "Passages: search finds the best one of each document"], ["documents", "Whole documents: one point of the map each"]].map(([name, words]) =>
        el("label", {}, el("input", { type: "radio", name: "data-unit", value: name, checked: name === chosen, on: { change: () => send("unit", { unit: name }) } }), words)));
    const stated = (one) => el("p", { class: "sb-dim" }, one.blank ? t`${window.SB.grouped(one.distinct)} distinct, ${window.SB.grouped(one.blank)} blank` : t`${window.SB.grouped(one.distinct)} distinct`);
    const head = value.columns.map((one) => el("th", { scope: "col", class: one.order >= 0 ? "sb-used" : "" },
      el("b", { translate: "no" }, one.name), badge(one), stated(one), text(one)));
    root.replaceChildren(
      el("h3", value.ours ? {} : { translate: "no" }, value.name),
      el("dl", { class: "sb-facts" }, value.facts.map(([name, fact]) => el("div", {}, el("dt", {}, name), el("dd", {}, fact)))),
      ...(value.unit ? [unit(value.unit)] : []),
      el("div", { class: "sb-scroll sb-dataset" }, el("table", { class: "sb-table" }, el("thead", {}, el("tr", {}, head)),
        el("tbody", {}, value.rows.map((row) => el("tr", {}, row.map((cell) => el("td", { translate: "no" }, cell))))))),
      ...(value.previews.length ? [el("h3", {}, "Combined text"), ...value.previews.map((one) => el("p", { class: "sb-combined", translate: "no" }, one))] : []),
      el("h3", {}, "Good for"),
      el("ul", { class: "sb-uses" }, value.uses.map((use) => el("li", { class: use.ok ? "" : "sb-dim" },
        el("span", { class: "sb-use-sign", role: "img", "aria-label": use.ok ? "yes" : "no" }, use.ok ? "✓" : "–"), el("b", {}, use.title), " ", el("span", {}, use.text)))),
      ...(value.notes.length ? [el("p", { class: "sb-note" }, sentences(value.notes))] : []));
  };
})();

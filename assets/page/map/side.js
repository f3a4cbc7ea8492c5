// The list beside the map: what was chosen, found or lies nearest, and what can be done with it.
(() => {
  "use strict";
  const { el, number, grouped, t, mapping } = window.SB;
  const AT_ONCE = 100;

  // A text field that does something at Enter.
  function ask(label, words, act, value = "") {
    const box = el("input", { type: "text", placeholder: label, "aria-label": label, maxlength: 80 });
    box.value = value;
    return el("form", { class: "sb-map-ask", on: { submit: (event) => { event.preventDefault(); if (box.value.trim()) act(box.value.trim()); } } },
      box, el("button", { type: "submit", class: "sb-small-button" }, words));
  }

  // A value beside a text; cell: [column, text, a word of the page's own]. The name of the topic needs no name of its column.
  mapping.cell = ([name, words, own], clusters) => el("span", { class: "sb-map-value", title: name === clusters ? null : name }, name === clusters ? null : el("span", { translate: "no" }, `${name}: `), el("span", { translate: own ? null : "no" }, words));

  // Which columns are shown beside the texts: remembered by name, as other files have columns of the same name.
  const KEY = "sbert-studio-map-columns";
  const remembered = () => { try { const found = JSON.parse(localStorage.getItem(KEY)); return Array.isArray(found) ? found.map(String) : null; } catch { return null; } };
  mapping.shownColumns = (names) => { const chosen = remembered() ?? names.slice(0, 1); return names.filter((name) => chosen.includes(name)); };
  function showColumn(names, name, on) {
    const others = (remembered() ?? names.slice(0, 1)).filter((one) => one !== name);
    try { localStorage.setItem(KEY, JSON.stringify(on ? [...others, name] : others)); } catch { /* a private window keeps nothing */ }
  }

  // A button that opens a small panel below it; a click elsewhere, Escape or an action closes it.
  function menu(words, content) {
    const box = el("details", { class: "sb-map-menu" }, el("summary", { class: "sb-small-button" }, words), el("div", { class: "sb-map-menu-body" }, content));
    box.addEventListener("keydown", (event) => { if (event.key === "Escape" && box.open) { event.stopPropagation(); box.open = false; box.firstChild.focus(); } });
    return box;
  }
  document.addEventListener("click", (event) => { for (const box of document.querySelectorAll(".sb-map-menu[open]")) if (!box.contains(event.target)) box.open = false; });

  // told: {thumbs(a, b) → two small buttons, where there is a basket; items(rows) → Promise<[{row, line, text, cells}]>, colourOf(row),
  //        columns() → [names], cellsChanged(), actions(list), label?(list), forms(list), onPoint(row), onPreview(row | null), onClose(), onBack() | null}
  function side(root, told) {
    let number_ = 0, shown = [];
    const clear = () => { number_ += 1; shown = []; root.hidden = true; root.replaceChildren(); };

    async function more(list, items, from, asked) {
      const rows = list.rows.slice(from, from + AT_ONCE), clusters = told.columns()[0];
      const found = rows.length ? await told.items(rows) : [];
      if (asked !== number_) return;
      for (const [i, item] of found.entries()) {
        const score = list.scores && list.scores[from + i], cells = item.cells.filter(([name]) => name !== list.without);
        items.append(el("li", { "data-row": item.row }, el("button", { type: "button", title: "Nearest texts",
          on: { click: () => told.onPoint(item.row), focus: () => told.onPreview(item.row), blur: () => told.onPreview(null), mouseenter: () => told.onPreview(item.row), mouseleave: () => told.onPreview(null) } },
          el("span", { class: "sb-text", translate: "no" }, item.text),
          el("span", { class: "sb-map-facts sb-dim" }, el("i", { style: { background: told.colourOf(item.row) } }), cells.map((cell) => mapping.cell(cell, clusters)),
            el("span", { class: "sb-map-line" }, t`row ${item.line}`), score === undefined ? null : el("b", {}, from + i === 0 && list.kind === "point" ? "this text" : number(score, 3)))),
          list.kind === "point" && item.row !== list.rows[0] ? told.thumbs?.(list.rows[0], item.row) : null));
      }
      const left = list.rows.length - from - rows.length;
      if (left > 0) {
        const button = el("button", { type: "button", class: "sb-small-button", on: { click: () => { button.parentNode.remove(); more(list, items, from + rows.length, asked); } } }, t`Show more (${grouped(left)} left)`);
        items.append(el("li", { class: "sb-map-more" }, button));
      }
    }

    // One row above the texts: the label's name, and a menu.
    function tools(list) {
      const close = (event) => { event.currentTarget.closest("details").open = false; };
      const acts = told.actions(list).map((one) => el("button", { type: "button", class: "sb-plain-button", title: one.why, on: { click: (event) => { close(event); one.act(); } } }, one.words));
      return el("div", { class: "sb-map-acts" }, told.label?.(list), menu("Actions", [...acts, ...told.forms(list)]));
    }
    function columns() {
      const names = told.columns(), shown = mapping.shownColumns(names);
      return menu("Columns", names.map((name, at) => el("label", {}, el("input", { type: "checkbox", checked: shown.includes(name), on: { change: (event) => { showColumn(names, name, event.target.checked); told.cellsChanged(); } } }), el("span", { translate: at ? "no" : null }, name))));
    }

    root.addEventListener("keydown", (event) => {
      if (event.key === "Escape") { told.onClose(); return; }
      if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
      const buttons = [...root.querySelectorAll("ol li > button")], at = buttons.indexOf(document.activeElement);
      if (at < 0) return;
      event.preventDefault();
      buttons[Math.max(0, Math.min(buttons.length - 1, at + (event.key === "ArrowDown" ? 1 : -1)))].focus();
    });

    function show(list, back) {
      const asked = (number_ += 1), items = el("ol", {});
      // The same texts, listed again with other colors or columns, stay until those have arrived.
      const former = list.rows.length === shown.length && list.rows.every((row, at) => row === shown[at]) ? root.querySelector("ol") : null;
      shown = list.rows;
      root.hidden = false;
      const opened = root.querySelector(".sb-map-list-head .sb-map-menu")?.open;  // the list is drawn again while columns are being chosen
      root.replaceChildren(
        el("div", { class: "sb-map-list-head" },
          back ? el("button", { type: "button", class: "sb-map-close", "aria-label": "Back", title: "Back", on: { click: back } }, "←") : null,
          el("strong", { role: "status", translate: list.named ? "no" : null }, list.title), list.rows.length ? columns() : null,
          el("button", { type: "button", class: "sb-map-close", "aria-label": "Close the list", title: "Close the list", on: { click: told.onClose } }, "×")),
        ...[list.rows.length ? tools(list) : null,
          list.ordered && list.rows.length > 1 ? el("p", { class: "sb-dim sb-map-order" }, "Most typical texts first") : null,
          list.rows.length ? null : el("p", { class: "sb-empty" }, list.empty || "No texts are left here.")].filter(Boolean),
        former ?? items);
      if (opened && list.rows.length) root.querySelector(".sb-map-list-head .sb-map-menu").open = true;
      return more(list, items, 0, asked).then(() => { if (former && asked === number_) former.replaceWith(items); });
    }
    // The dots beside the texts have the colours of the map, which change with the column, the topics and the theme.
    function recolour() {
      for (const item of root.querySelectorAll("li[data-row]")) item.querySelector(".sb-map-facts > i").style.background = told.colourOf(Number(item.dataset.row));
    }
    return { show, clear, recolour };
  }

  Object.assign(window.SB.mapping, { side, ask });
})();

// The list beside the map: what was chosen, found or lies nearest, and what can be done with it.
(() => {
  "use strict";
  const { el, number, grouped, t } = window.SB;
  const AT_ONCE = 100;

  // A text field that does something at Enter.
  function ask(label, words, act, value = "") {
    const box = el("input", { type: "text", placeholder: label, "aria-label": label, maxlength: 80 });
    box.value = value;
    return el("form", { class: "sb-map-ask", on: { submit: (event) => { event.preventDefault(); if (box.value.trim()) act(box.value.trim()); } } },
      box, el("button", { type: "submit", class: "sb-small-button" }, words));
  }

  // told: {thumbs(a, b) → two small buttons, where there is a basket; items(rows) → Promise<[{row, line, text, value, ours?}]>, colourOf(row), actions(list), forms(list), onPoint(row), onPreview(row | null), onClose(), onBack() | null}
  function side(root, told) {
    let number_ = 0;
    const clear = () => { number_ += 1; root.hidden = true; root.replaceChildren(); };

    async function more(list, items, from, asked) {
      const rows = list.rows.slice(from, from + AT_ONCE);
      const found = rows.length ? await told.items(rows) : [];
      if (asked !== number_) return;
      for (const [i, item] of found.entries()) {
        const score = list.scores && list.scores[from + i];
        items.append(el("li", { "data-row": item.row }, el("button", { type: "button", title: "Nearest texts",
          on: { click: () => told.onPoint(item.row), focus: () => told.onPreview(item.row), blur: () => told.onPreview(null), mouseenter: () => told.onPreview(item.row), mouseleave: () => told.onPreview(null) } },
          el("span", { class: "sb-text", translate: "no" }, item.text),
          el("span", { class: "sb-map-facts sb-dim" }, el("i", { style: { background: told.colourOf(item.row) } }), el("span", { class: "sb-map-value", translate: item.ours ? null : "no" }, item.value),
            el("span", {}, t`row ${item.line}`), score === undefined ? null : el("b", {}, from + i === 0 && list.kind === "point" ? "this text" : number(score, 3)))),
          list.kind === "point" && item.row !== list.rows[0] ? told.thumbs?.(list.rows[0], item.row) : null));
      }
      const left = list.rows.length - from - rows.length;
      if (left > 0) {
        const button = el("button", { type: "button", class: "sb-small-button", on: { click: () => { button.parentNode.remove(); more(list, items, from + rows.length, asked); } } }, t`Show more (${grouped(left)} left)`);
        items.append(el("li", { class: "sb-map-more" }, button));
      }
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
      root.hidden = false;
      root.replaceChildren(
        el("div", { class: "sb-map-list-head" },
          back ? el("button", { type: "button", class: "sb-map-close", "aria-label": "Back", title: "Back", on: { click: back } }, "←") : null,
          el("strong", { role: "status", translate: list.named ? "no" : null }, list.title),
          el("button", { type: "button", class: "sb-map-close", "aria-label": "Close the list", title: "Close the list", on: { click: told.onClose } }, "×")),
        list.rows.length ? el("div", { class: "sb-map-acts" }, told.actions(list).map((one) => el("button", { type: "button", class: "sb-small-button", title: one.why, on: { click: one.act } }, one.words))) : null,
        ...(list.rows.length ? told.forms(list) : []),
        list.ordered && list.rows.length > 1 ? el("p", { class: "sb-dim sb-map-order" }, "Most typical texts first") : null,
        ...(list.rows.length ? [] : [el("p", { class: "sb-empty" }, list.empty || "No texts are left here.")]),
        items);
      return more(list, items, 0, asked);
    }
    return { show, clear };
  }

  Object.assign(window.SB.mapping, { side, ask });
})();

// The basket: thumbs on any two texts, the button that counts the pairs, and the list in the drawer.
(() => {
  "use strict";
  const { views, el, svg, select, sentences, grouped, t } = window.SB;
  const ICONS = { together: "M7 11v9H4v-9zM7 11l4-7c1.5 0 2.5 1 2.5 2.5V10h5.2c1.2 0 2 1.1 1.7 2.2l-1.7 6.3c-.2.9-1 1.5-1.9 1.5H7",
    apart: "M17 13V4h3v9zM17 13l-4 7c-1.5 0-2.5-1-2.5-2.5V14H5.3c-1.2 0-2-1.1-1.7-2.2l1.7-6.3C5.5 4.6 6.3 4 7.2 4H17" };
  const WORDS = { together: "Similar", apart: "Dissimilar" };
  const keyOf = (a, b) => [a.trim(), b.trim()].sort().join("\0");
  let known = new Map();

  // Two small buttons that say of two texts whether they belong together. What the basket holds of them is what they show.
  const drawn = new WeakMap();
  function paint(node) {
    const { key } = drawn.get(node), says = known.get(key);
    for (const button of node.children) button.setAttribute("aria-pressed", says === (button.dataset.says === "together") ? "true" : "false");
  }
  function thumbs(host, index, a, b) {
    const button = (says) => el("button", { type: "button", "data-says": says, "aria-label": WORDS[says], title: t`${WORDS[says]}: add to the pair basket`,
      on: { click: (event) => { event.stopPropagation(); select(host, says, index); } } },
      svg("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, svg("path", { d: ICONS[says] })));
    const node = el("span", { class: "sb-thumbs", role: "group", "aria-label": "Add this pair to the basket" }, button("together"), button("apart"));
    drawn.set(node, { key: keyOf(a, b) });
    paint(node);
    return node;
  }

  // A drawer stands at the side over the page; Escape closes it, and the focus goes back to where it came from.
  let opener = null;
  function drawer(id, on) {
    const place = document.getElementById(id);
    if (!place) return;
    const open = on ?? !place.classList.contains("sb-open");
    if (open) opener = document.activeElement;
    place.classList.toggle("sb-open", open);
    place.setAttribute("role", "dialog");
    const title = place.querySelector("h2");
    if (title) {
      title.id ||= `${id}-title`;
      place.setAttribute("aria-labelledby", title.id);
    }
    if (open) place.querySelector("button")?.focus();
    else opener?.focus?.();
  }
  document.addEventListener("keydown", (event) => {
    const open = event.key === "Escape" && document.querySelector(".sb-drawer.sb-open");
    if (open && !event.defaultPrevented) drawer(open.id, false);
  });

  views.basketbutton = (root) => (value) => root.replaceChildren(
    el("button", { type: "button", class: "sb-basket-button", title: "Pairs that you labelled as similar or dissimilar", on: { click: () => drawer("basket") } },
      "Pairs", el("span", { class: "sb-badge" + (value.count ? " sb-own" : "") }, grouped(value.count))));

  views.basket = (root, host) => {
    let editing = null;
    const row = (pair, redraw) => {
      if (editing === pair.id) return editor(pair, redraw);
      const small = (words, act, label) => el("button", { type: "button", class: "sb-plain-button", "aria-label": t`${label || words}: ` + pair.a, on: { click: act } }, words);
      return el("li", { class: pair.together ? "sb-pair" : "sb-pair sb-apart" },
        el("div", { class: "sb-pair-texts" }, el("p", { translate: "no" }, pair.a), el("p", { translate: "no" }, pair.b)),
        el("div", { class: "sb-pair-foot" },
          el("button", { type: "button", class: `sb-badge sb-flip${pair.together ? " sb-own" : " sb-failed"}`, title: "Flip the label", "aria-label": pair.together ? "Similar: flip the label" : "Dissimilar: flip the label",
            on: { click: () => select(host, "flip", pair.id) } }, pair.together ? "together" : "apart"),
          el("span", { class: "sb-dim" }, pair.source),
          small("Edit", () => { editing = pair.id; redraw(); }), small("Remove", () => select(host, "remove", pair.id))));
    };
    const editor = (pair, redraw) => {
      const box = (text, label) => { const area = el("textarea", { rows: 2, "aria-label": label }); area.value = text; return area; };
      const a = box(pair.a, "First text"), b = box(pair.b, "Second text");
      const end = () => { editing = null; redraw(); };
      return el("li", { class: "sb-pair" }, el("div", { class: "sb-pair-edit" }, a, b),
        el("div", { class: "sb-pair-foot" },
          el("button", { type: "button", class: "sb-small-button", on: { click: () => { select(host, "edit", { id: pair.id, a: a.value, b: b.value }); end(); } } }, "Save"),
          el("button", { type: "button", class: "sb-plain-button", on: { click: end } }, "Cancel editing")));
    };
    return (value) => {
      known = new Map(value.pairs.map((pair) => [keyOf(pair.a, pair.b), pair.together]));
      for (const node of document.querySelectorAll(".sb-thumbs")) if (drawn.has(node)) paint(node);
      const draw = () => root.replaceChildren(
        el("div", { class: "sb-drawer-head" }, el("h2", {}, "Your pairs"),
          el("button", { type: "button", class: "sb-plain-button", disabled: !value.undo, on: { click: () => select(host, "undo", 0) } }, "Undo"),
          el("button", { type: "button", class: "sb-plain-button", disabled: !value.count, on: { click: () => select(host, "clear", 0) } }, "Clear all"),
          el("button", { type: "button", class: "sb-icon-button", "aria-label": "Close", on: { click: () => drawer("basket", false) } }, "✕")),
        ...(value.trouble ? [el("p", { class: "sb-note", role: "status" }, value.trouble)] : []),
        el("p", { class: "sb-dim" }, ...(value.count
          ? sentences([t`Similar pairs: ${grouped(value.together)}, dissimilar pairs: ${grouped(value.apart)}.`, "Train on them to teach the model what you mean by similar."])
          : ["Click a thumb next to two texts in Similarity, Search, Map or Near-duplicates to label the pair. Labelled pairs are collected here for training."])),
        el("ul", { class: "sb-pairs" }, value.pairs.map((pair) => row(pair, draw))),
        ...(value.rest ? [el("p", { class: "sb-note" }, t`The download also contains ${grouped(value.rest)} older pairs.`)] : []));
      draw();
    };
  };

  // What was asked for below the drawer's edge is scrolled to.
  function seen(root) {
    const drawer = root.closest(".sb-drawer.sb-open");
    if (drawer && root.getBoundingClientRect().top > drawer.getBoundingClientRect().bottom - 60) root.scrollIntoView({ block: "start" });
  }

  views.suggestions = (root, host) => (value) => { root.replaceChildren(
    el("p", { class: "sb-dim" }, value.note),
    el("ul", { class: "sb-pairs" }, value.pairs.map((pair, place) => el("li", { class: "sb-pair sb-open-pair" },
      el("div", { class: "sb-pair-texts" }, el("p", { translate: "no" }, pair.a), el("p", { translate: "no" }, pair.b)),
      el("div", { class: "sb-pair-foot" }, el("span", { class: "sb-dim" }, t`cosine ${window.SB.number(pair.cosine, 2)}`), thumbs(host, place, pair.a, pair.b)))))); seen(root); };

  Object.assign(window.SB, { thumbs, drawer });
})();

// The rows that a tuned model gets most wrong: what they say, what the model makes of them, and a click to compare the two texts.
(() => {
  "use strict";
  const { views, el, select, t } = window.SB;

  views.mistakes = (root, host) => {
    let open = false;
    return (value) => {
      const verdict = (row) => [row.gold && t`yours: ${row.gold}`, row.said && t`the model: ${row.said}`].filter(Boolean).join(" · ");
      const list = el("ol", { class: "sb-mistakes" }, value.rows.map((row, place) => el("li", {},
        el("div", {}, ...row.texts.map((text) => el("p", { translate: "no" }, text)),
          ...(row.beside ? [el("p", { class: "sb-dim" }, "confused with:", el("span", { translate: "no" }, row.beside))] : []),
          el("p", { class: "sb-dim sb-mistake-facts" }, [t`row ${row.line}`, verdict(row)].filter(Boolean).join(" · "))),
        el("button", { type: "button", class: "sb-small-button", "aria-label": t`Compare, row ${row.line}`, on: { click: () => select(host, "mistake", place) } }, "Compare"))));
      const more = el("details", { class: "sb-more", open, on: { toggle: () => { open = more.open; } } }, el("summary", {}, value.title),
        el("p", { class: "sb-dim" }, value.note), list);
      root.replaceChildren(value.rows.length ? more : el("p", { class: "sb-note" }, value.title));
    };
  };
})();

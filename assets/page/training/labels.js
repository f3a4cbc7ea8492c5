// Rows whose label is contradicted by models that were not trained on them: corrected or dropped here, and trained on again.
(() => {
  "use strict";
  const { views, el, select, t } = window.SB;

  views.labels = (root, host) => {
    let open = false, run = "", edits = {};  // row → new label; null: dropped
    return (value) => {
      if (value.run !== run) [run, edits] = [value.run, {}];
      if (!value.rows) {
        root.replaceChildren(el("button", { type: "button", id: "tune-labels-check", class: "sb-small-button", on: { click: () => { open = true; select(host, "check", value.run); } } }, "Check for wrong labels"));
        return;
      }
      const apply = el("button", { type: "button", id: "tune-labels-apply", class: "sb-small-button", on: { click: () => { select(host, "fix", { run, edits }); window.SB.reveal("tune-preview"); } } }, "Use the corrected rows");
      const refresh = () => { apply.disabled = !Object.keys(edits).length; };
      const line = (row) => {
        const set = (label) => { if (label === row.label) delete edits[row.row]; else edits[row.row] = label; refresh(); };
        const now = typeof edits[row.row] === "string" ? edits[row.row] : row.label;
        const field = value.choices.length
          ? el("select", { translate: "no", "aria-label": t`Label of row ${row.row}` }, value.choices.map((choice) => el("option", { value: choice, selected: choice === now }, choice)))
          : el("input", { type: "text", inputmode: "decimal", size: 6, value: now, "aria-label": t`Score of row ${row.row}` });
        const box = el("input", { type: "checkbox", checked: edits[row.row] === null });
        field.addEventListener("input", () => set(field.value));
        box.addEventListener("change", () => { field.disabled = box.checked; set(box.checked ? null : field.value); });
        field.disabled = box.checked;
        return el("li", {},
          el("div", {}, ...row.texts.map((text) => el("p", { translate: "no" }, text)),
            el("p", { class: "sb-dim sb-mistake-facts" }, [t`row ${row.row}`, t`yours: ${row.label}`, t`predicted: ${row.predicted}`].join(" · "))),
          el("div", { class: "sb-label-edit" }, field, el("label", {}, box, "Drop")));
      };
      const more = el("details", { class: "sb-more", open, on: { toggle: () => { open = more.open; } } }, el("summary", {}, value.title),
        el("p", { class: "sb-dim" }, value.note), el("ol", { class: "sb-mistakes" }, value.rows.map(line)), apply);
      refresh();
      root.replaceChildren(value.rows.length ? more : el("p", { class: "sb-note" }, value.title));
    };
  };
})();

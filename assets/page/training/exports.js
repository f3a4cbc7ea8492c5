// Exports of the selected model for other programs: the formats, the visitor's latest export, and its file.
(() => {
  "use strict";
  const { views, el, select, t } = window.SB;
  const POLL = 1000; // milliseconds between two questions about a running export
  const REFUSED = 2000; // milliseconds after which the button can be pressed again if nothing has begun

  views.exports = (root, host) => {
    const chooser = el("select", { id: "models-export-format", "aria-label": "Format", on: { change: () => describe() } });
    const size = el("select", { id: "models-export-size", "aria-label": "Components" });
    const own = el("input", { type: "checkbox", id: "models-export-own" });
    const about = el("div");
    const facts = (pairs) => el("dl", { class: "sb-facts" }, pairs.map(([name, fact]) => el("div", {}, el("dt", {}, name), el("dd", {}, fact))));
    const start = el("button", { type: "button", id: "models-export-go", class: "sb-small-button", on: { click: () => { start.disabled = true; setTimeout(describe, REFUSED); select(host, "start", { model: value.model, format: chooser.value, size: Number(size.value), own: own.checked }); } } }, "Export");
    const job = el("div", { id: "models-export-job", class: "sb-exports-job" });
    const compare = el("div", { class: "sb-field sb-field-checkbox sb-exports" }, el("label", {}, own, el("span", { class: "sb-field-name" }, "Compare on the texts of the chosen data")));
    const form = el("div", {}, el("div", { class: "sb-field sb-exports" }, chooser, size, start), compare, about);
    const whole = el("details", { class: "sb-more" }, el("summary", {}, "Export for another program"), form, job);
    const drawJob = views.job(job);
    let value = null, timer = 0;
    root.append(whole);

    function describe() {
      const one = value.formats.find((format) => format.name === chooser.value);
      if (!one) return;
      about.replaceChildren(facts([["Read by", one.readers], ["Cost", one.cost], ...(one.size ? [["Size", one.size]] : [])]),
        ...(one.missing ? [el("p", { class: "sb-alert" }, one.missing)] : []));
      start.disabled = Boolean(one.missing || value.job?.live);
    }

    return (next) => {
      const names = (formats) => formats.map((format) => format.name).join();
      if (!value || names(value.formats) !== names(next.formats)) {
        const before = chooser.value;
        chooser.replaceChildren(...next.formats.map((format) => el("option", { value: format.name }, format.title)));
        if (next.formats.some((format) => format.name === before)) chooser.value = before;
        else if (next.formats.some((format) => format.name === "sentence-transformers")) chooser.value = "sentence-transformers";
      }
      if (!value || value.model !== next.model) {
        const all = el("option", { value: 0 }, "All components");
        size.replaceChildren(all, ...next.sizes.map((count) => el("option", { value: count }, t`${count} components`)));
      }
      value = next;
      form.hidden = !next.formats.length;
      describe();
      job.hidden = !next.job;
      if (next.job) {
        drawJob(next.job);
        if (next.job.live) whole.open = true;
        if (next.facts.length) job.append(facts(next.facts));
        if (next.job.live) job.append(el("button", { type: "button", id: "models-export-stop", class: "sb-small-button", on: { click: () => select(host, "stop", { id: next.id }) } }, "Stop"));
        else if (next.facts.length) job.append(el("button", { type: "button", id: "models-export-download", class: "sb-small-button", on: { click: () => select(host, "download", {}) } }, "Download zip"));
      }
      clearInterval(timer);
      if (next.job?.live) timer = setInterval(() => (root.isConnected ? select(host, "poll", {}) : clearInterval(timer)), POLL);
      if (next.ready) setTimeout(() => document.querySelector("#models-export-file").click(), 250);
    };
  };
})();

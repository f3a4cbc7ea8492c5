// Tables, gauges, lists: one function a view, (root, host) => draw(value).
(() => {
  "use strict";
  const { views, el, svg, select, sentences, number, grouped, setTheme, isDark, t } = window.SB;
  const empty = (text) => el("div", { class: "sb-empty" }, text);

  views.header = (root) => (value) => {
    const mark = svg("svg", { viewBox: "0 0 32 32", class: "sb-mark", "aria-hidden": "true" },
      svg("circle", { cx: 9, cy: 22, r: 5 }), svg("circle", { cx: 22, cy: 9, r: 5 }),
      svg("circle", { cx: 24, cy: 24, r: 3 }), svg("path", { d: "M12.5 18.5 18.5 12.5" }));
    const swap = el("button", { class: "sb-icon-button", type: "button", "aria-label": "Switch between light and dark", title: "Light or dark",
      on: { click: () => setTheme(!isDark()) } },
      svg("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, svg("path", { d: "M12 3a9 9 0 1 0 0 18V3z" }), svg("circle", { cx: 12, cy: 12, r: 9, fill: "none" })));
    root.replaceChildren(el("div", { class: "sb-brand" }, mark,
      el("h1", {}, value.title),
      el("span", { class: "sb-badge sb-device", title: value.device_title }, value.device), tongue(), swap));
  };
  // Its words are those of the language that it leads to, for whoever cannot read this one.
  function tongue() {
    const { language } = window.SB;
    if (!language || language.next() === language.now()) return null;
    const button = el("button", { class: "sb-icon-button sb-language", type: "button", translate: "no", on: { click: () => language.choose(language.next()) } });
    const draw = () => {
      const name = language.next();
      button.textContent = language.name(name);
      for (const [attribute, words] of Object.entries({ lang: language.tag(name), "data-short": language.name(name).slice(0, 2), title: language.name(name), "aria-label": language.name(name) })) button.setAttribute(attribute, words);
    };
    language.on(draw);
    draw();
    return button;
  }

  views.intro = (root) => (value) => root.replaceChildren(el("h2", {}, value.title), el("p", {}, value.text));

  views.empty = (root) => (value) => root.replaceChildren(empty(value.text));

  // Sample sets: those in the page's language come first (studio.css).
  views.samples = (root, host) => (value) => root.replaceChildren(el("div", { class: "sb-samples" }, value.samples.map((one) =>
    el("button", { type: "button", id: `${value.prefix}-${one.id}`, class: `sb-small-button sb-in-${one.language}`, on: { click: () => select(host, "sample", one.id) } }, one.title))));

  views.note = (root) => (value) => root.replaceChildren(el("p", { class: "sb-fineprint sb-dim" }, value.text,
    ...(value.link ? [" ", el("a", { href: value.link, target: "_blank", rel: "noopener" }, value.link)] : [])));

  // What stands above every tab, with what to do about it.
  const hidden = new Set();  // what was read and put away, until the page is opened again
  views.banner = (root, host) => function draw(value) {
    root.replaceChildren(...value.notes.filter((note) => !hidden.has(note.text)).map((note) => el("div", { class: note.quiet ? "sb-banner sb-banner-quiet" : "sb-banner", role: "status" },
      el("p", {}, el("strong", { class: "sb-sentence" }, note.text), ...sentences(note.advice)),
      el("div", { class: "sb-banner-ways" },
        note.models.map((one) => el("button", { type: "button", class: "sb-small-button", on: { click: () => select(host, "model", one.name) } }, t`Use ${one.title}`)),
        note.link ? el("a", { class: "sb-small-button", href: note.link.href, target: "_blank", rel: "noopener" }, note.link.words) : null,
        note.tab ? el("button", { type: "button", class: "sb-small-button", on: { click: () => document.querySelector("#tab-models-button")?.click() } }, "Go to the Models tab") : null,
        note.hide ? el("button", { type: "button", class: "sb-small-button", on: { click: () => { hidden.add(note.text); draw(value); } } }, "Hide") : null))));
  };

  views.facts = (root) => (value) => {
    if (value.empty) return root.replaceChildren(empty(value.empty));
    root.replaceChildren(
      ...(value.title ? [el("h3", { translate: "no" }, value.title)] : []),
      el("dl", { class: "sb-facts" }, value.facts.map(([name, fact]) => el("div", {}, el("dt", {}, name, window.SB.help(name)), el("dd", {}, String(fact))))),
      ...(value.notes || []).map((note) => el("p", { class: "sb-note" }, note)));
  };

  const { files } = window.SB;
  function download(name, blob) {
    const url = URL.createObjectURL(blob);
    el("a", { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
  }
  const takeaway = (name, names, rows) => {
    const copy = el("button", { type: "button", class: "sb-plain-button", title: "Copy the table for a spreadsheet", on: { click: () => {
      navigator.clipboard?.writeText(files.lines(names, rows())).then(() => { copy.textContent = "Copied"; setTimeout(() => { copy.textContent = "Copy"; }, 1500); });
    } } }, "Copy");
    return el("span", { class: "sb-takeaway" }, el("button", { type: "button", class: "sb-plain-button", title: "Download the table as a CSV", on: { click: () => download(`${name}.csv`, new Blob([files.csv(names, rows())], { type: "text/csv;charset=utf-8" })) } }, "CSV"),
      el("button", { type: "button", class: "sb-plain-button", title: "Download the table as an Excel workbook", on: { click: () => download(`${name}.xlsx`, files.xlsx(names, rows())) } }, "XLSX"),
      navigator.clipboard ? copy : null);
  };
  window.SB.takeaway = takeaway;

  const span = (cell) => (cell ? `${number(cell[0])} – ${number(cell[2])}` : "");
  const inFile = { texts: (cell) => cell.join(" | "), interval: span, speed: (cell) => cell && cell[1] };
  const cells = {
    marked: (cell) => el("span", { class: "sb-text", translate: "no" }, cell.map((part, place) => (place % 2 ? el("mark", {}, part) : part))),
    text: (cell, column) => el("span", { class: "sb-text", translate: column.ours ? null : "no" }, String(cell ?? "")),
    place: (cell) => (typeof cell === "number" ? el("span", { class: "sb-dim" }, `#${cell}`) : el("span", { class: "sb-badge sb-own" }, "only in this list")),
    texts: (cell) => el("div", { class: "sb-texts", translate: "no" }, cell.map((text) => el("p", {}, text))),
    row: (cell) => el("span", { class: "sb-dim" }, String(cell ?? "")),
    number: (cell, column) => (typeof cell === "number" ? number(cell, column.digits ?? 3) : String(cell ?? "–")),
    count: (cell) => (typeof cell === "number" ? grouped(cell) : String(cell ?? "–")),
    badge: (cell) => (cell ? el("span", { class: `sb-badge sb-${String(cell).replace(/[^a-z]/g, "")}` }, String(cell)) : ""),
    // Without colours: whether a difference is more than chance stands beside it.
    change: (cell, column) => {
      if (typeof cell !== "number") return "";
      const size = number(Math.abs(cell), column.digits ?? 3);
      return (Number(size) === 0 ? "±" : cell > 0 ? "+" : "−") + size;
    },
    speed: (cell) => (cell ? el("span", {}, grouped(cell[1]), ...(cell[0] === null ? [] : [" ", el("span", { class: "sb-dim" }, `(${grouped(cell[0])}–${grouped(cell[2])})`)])) : "–"),
    bar: (cell, column) => {
      const low = column.low ?? 0, high = column.high ?? 1;
      const share = Math.max(0, Math.min(1, (cell - low) / (high - low || 1)));
      return el("span", { class: "sb-score" }, el("span", { class: "sb-score-bar", "aria-hidden": "true" }, el("i", { style: { width: `${share * 100}%` } })), number(cell, column.digits ?? 3));
    },
    interval: (cell) => {
      if (!cell) return "";
      const [low, score, high] = cell;
      const place = (x) => `${Math.max(0, Math.min(1, x)) * 100}%`;
      return el("span", { class: "sb-interval-told" }, el("span", { class: "sb-interval", "aria-hidden": "true" },
        el("i", { style: { left: place(low), width: `calc(${place(high)} - ${place(low)})` } }), el("b", { style: { left: place(score) } })), el("span", {}, span(cell)));
    },
  };
  const rightAligned = new Set(["number", "count", "speed", "change"]);

  /* Where a table has no room for its headers (see studio.css), a list and a button sort it in their place. */
  const sorter = (columns, sorted, sort) => {
    const list = el("select", { "aria-label": "Sort by", on: { change: () => { const at = Number(list.value); sort(at, columns[at].kind !== "text"); } } },
      sorted ? null : el("option", { value: "", selected: "", disabled: "" }, "Sort by"),
      columns.map((column, at) => el("option", { value: at, selected: sorted && sorted.column === at ? "" : null, translate: column.theirs ? "no" : null }, column.name)));
    return el("div", { class: "sb-sorter" }, list,
      sorted ? el("button", { type: "button", "aria-label": sorted.down ? "Largest first" : "Smallest first", on: { click: () => sort(sorted.column, !sorted.down) } }, sorted.down ? "↓" : "↑") : null);
  };

  views.table = (root, host) => {
    let sorted = null;
    const draw = (value) => {
      if (!value.rows || !value.rows.length) return root.replaceChildren(empty(value.empty || "Nothing to show."));
      const stacked = value.columns.some((column) => column.main);
      let order = value.rows.map((_, index) => index);
      if (sorted && sorted.column < value.columns.length) {
        const at = sorted.column, sign = sorted.down ? -1 : 1;
        order.sort((a, b) => {
          const [x, y] = [a, b].map((row) => (value.columns[at].kind === "speed" ? value.rows[row][at]?.[1] : value.rows[row][at]));
          return sign * (typeof x === "number" && typeof y === "number" ? x - y : String(x ?? "").localeCompare(String(y ?? ""), undefined, { numeric: true }));
        });
      }
      const sort = (column, down) => { sorted = { column, down }; draw(value); };
      const act = (index) => select(host, value.action.value || "row", value.ids[index]);
      const head = value.columns.map((column, at) => el("th", { scope: "col", class: rightAligned.has(column.kind) ? "sb-right" : column.kind === "row" ? "sb-narrow" : "",
        "aria-sort": sorted && sorted.column === at ? (sorted.down ? "descending" : "ascending") : null },
        el("button", { type: "button", on: { click: () => sort(at, sorted && sorted.column === at ? !sorted.down : column.kind !== "text") }, translate: column.theirs ? "no" : null }, column.name), column.theirs ? null : window.SB.help(column.name)));
      const body = order.map((index) => el("tr", { class: (value.action ? "sb-clickable" : "") + (value.current === index ? " sb-current" : ""),
        on: value.action ? { click: () => act(index) } : {} },
        value.columns.map((column, at) => el("td", { class: `sb-cell-${column.kind}` + (column.main ? " sb-main" : "") + (rightAligned.has(column.kind) ? " sb-right" : ""), "data-name": column.name, translate: column.theirs ? "no" : null },
          cells[column.kind](value.rows[index][at], column))),
        value.action || value.pairs ? el("td", { class: "sb-act" }, value.pairs ? window.SB.thumbs(host, value.ids[index], ...value.pairs[index]) : null, value.action && el("button", { type: "button", "aria-label": value.action.label, title: value.action.label,
          on: { click: (event) => { event.stopPropagation(); act(index); } } }, value.action.mark || "→")) : null));
      root.replaceChildren(
        el("div", { class: "sb-table-head" }, el("p", { class: "sb-caption" }, value.caption || ""),
          takeaway(root.closest("[id]:not([id^=html-])")?.id || "table", value.columns.map((column) => column.name), () => order.map((index) => value.rows[index].map((cell, at) => (inFile[value.columns[at].kind] ? inFile[value.columns[at].kind](cell) : cell))))),
        ...(stacked && order.length > 1 ? [sorter(value.columns, sorted, sort)] : []),
        el("div", { class: "sb-scroll sb-tall" }, el("table", { class: "sb-table" + (stacked ? " sb-stack" : "") },
          el("thead", {}, el("tr", {}, head, value.action || value.pairs ? el("th", { class: "sb-act" }, el("span", { class: "sb-hidden" }, value.action ? value.action.label : "Add to basket")) : null)),
          el("tbody", {}, body))),
        ...(value.note ? [el("p", { class: "sb-note" }, value.note)] : []),
        ...(value.offer ? [el("button", { type: "button", class: "sb-small-button", on: { click: () => select(host, "offer", 0) } }, value.offer)] : []));
    };
    return (value) => { sorted = null; draw(value); };
  };

  const signs = { error: "✕", warning: "!", info: "i" };
  views.findings = (root, host) => (value) => {
    if (value.empty) return root.replaceChildren(empty(value.empty));
    const items = value.findings.map((finding) => el("li", { class: `sb-finding sb-${finding.severity}` },
      el("span", { class: "sb-sign", role: "img", "aria-label": finding.severity }, signs[finding.severity] || "i"),
      el("div", {}, el("p", {}, finding.message), finding.where ? el("p", { class: "sb-dim" }, finding.where) : null),
      finding.fix ? el("button", { type: "button", class: "sb-small-button", on: { click: () => select(host, "fix", finding.index) } }, finding.fix) : null));
    root.replaceChildren(el("p", { class: "sb-verdict" }, value.verdict), ...(value.why ? [el("p", { class: "sb-why sb-dim" }, value.why)] : []),
      ...(items.length ? [el("ul", { class: "sb-findings" }, items)] : value.checking ? [] : [el("p", { class: "sb-fine" }, "No problems found.")]),
      ...(value.undo ? [el("div", { class: "sb-changes" },
        el("div", {}, el("p", {}, "Changes to the original file:"), el("ol", {}, value.changes.map((change) => el("li", {}, change)))),
        el("button", { type: "button", class: "sb-small-button", on: { click: () => select(host, "undo", 0) } }, value.undo))] : []),
      ...(value.offers && value.offers.length ? [el("div", { class: "sb-offers" }, el("p", { class: "sb-dim" }, "Or convert it to:"),
        el("div", {}, value.offers.map((offer) => el("button", { type: "button", class: "sb-small-button", on: { click: () => select(host, "convert", offer.name) } },
          offer.label, el("span", { class: "sb-dim" }, offer.rows)))))] : []));
  };

  // What only the owner can say: the question, their own rows, and a button an answer.
  views.questions = (root, host) => (value) => {
    const row = (shown) => el("li", {},
      el("div", { class: "sb-question-texts" }, shown.texts.map((text, place) => el("p", { "data-text": t`Text ${place + 1}` }, el("span", { translate: "no" }, text)))),
      el("div", { class: "sb-question-row" }, el("span", { class: "sb-dim" }, t`Row ${shown.row}`),
        shown.value ? el("b", { translate: "no" }, shown.value) : null, shown.read_as ? el("span", { class: "sb-badge" }, shown.read_as) : null));
    root.replaceChildren(el("h3", {}, value.title), ...value.questions.map((one, number) => el("section", { class: "sb-question", "aria-label": one.question },
      el("p", { class: "sb-verdict" }, one.question), one.why ? el("p", { class: "sb-dim" }, one.why) : null,
      one.rows.length ? el("ul", {}, one.rows.map(row)) : null,
      el("div", { class: "sb-answers" }, one.answers.map((answer, place) => {
        const button = el("button", { type: "button", class: "sb-small-button" + (place === one.proposed ? " sb-proposed" : ""),
          title: place === one.proposed ? "Suggested by the names and the model" : null, on: { click: () => select(host, "answer", [number, place]) } }, answer);
        window.SB.theirs(button, one.theirs?.[place]);
        return button;
      })))));
  };

  // Passages to tick for each question; the browser draws a tick at once, and the server stores it.
  views.relevance = (root, host) => (value) => {
    if (value.empty) return root.replaceChildren(empty(value.empty));
    const judged = () => value.questions.filter((one) => one.hits.some((hit) => hit.ticked)).flatMap((one) => one.hits.map((hit) => [one.query, hit.text.replace(/\s+/g, " ").trim(), hit.ticked ? 1 : 0]));
    root.replaceChildren(el("div", { class: "sb-table-head" }, el("p", { class: "sb-caption" }), window.SB.takeaway("relevance", ["query", "document", "grade"], judged)),
      ...value.questions.map((one) => el("section", { class: "sb-question", "aria-label": one.query },
        el("p", { class: "sb-verdict", translate: "no" }, one.query),
        el("ul", { class: "sb-ticks" }, one.hits.map((hit) => {
          const box = el("input", { type: "checkbox", on: { change: () => { hit.ticked = box.checked; select(host, "tick", [one.query, hit.row, box.checked]); } } });
          box.checked = hit.ticked;
          return el("li", {}, el("label", {}, box, el("span", { translate: "no" }, hit.text.length > value.shown ? `${hit.text.slice(0, value.shown)}…` : hit.text), hit.file ? el("span", { class: "sb-dim", translate: "no" }, hit.file) : null));
        })))));
  };

  views.reasons = (root) => (value) => root.replaceChildren(el("h3", {}, value.title), el("ul", { class: "sb-reasons" }, value.reasons.map((reason) => el("li", {}, reason))));

  views.command = (root) => (value) => {
    const copy = el("button", { type: "button", class: "sb-small-button", on: { click: () => {
      navigator.clipboard?.writeText(value.command).then(() => { copy.textContent = "Copied"; setTimeout(() => { copy.textContent = "Copy"; }, 1500); });
    } } }, "Copy");
    root.replaceChildren(el("p", { class: "sb-caption" }, value.title), el("div", { class: "sb-command" }, el("code", { translate: "no" }, value.command), copy));
  };

  // The way from the data to a result: what each step has come to, and what can be done with it.
  const marks = { done: "✓", running: "…" };
  const INSPECTS = new Set(["show", "ask"]);
  let shows = false;  // whether the step clicked last shows something
  views.steps = (root, host) => (value) => root.replaceChildren(el("h3", {}, value.title), el("ol", { class: "sb-steps" }, value.steps.map((step, place) =>
    el("li", { class: `sb-step sb-step-${step.status || "later"}`, "aria-current": step.status === "current" || step.status === "running" ? "step" : null },
      el("span", { class: "sb-step-mark", "aria-hidden": "true" }, marks[step.status] || String(place + 1)),
      el("div", {}, el("p", {}, el("strong", {}, step.title), " ", el("span", {}, step.text)),
        step.actions.length ? el("div", { class: "sb-answers" }, step.actions.map(([label, action], number) => el("button", { type: "button",
          class: "sb-small-button" + (number === 0 && step.status === "current" ? " sb-proposed" : ""), on: { click: () => { shows = INSPECTS.has(action); select(host, action, step.name); } } }, label))) : null)))));
  // What a step shows is drawn below all steps: scroll there once it has come.
  window.SB.revealShown = (id) => shows && window.SB.reveal(id);

  views.cards = (root, host) => (value) => {
    if (!value.cards.length) return root.replaceChildren(empty(value.empty));
    root.replaceChildren(el("div", { class: "sb-cards" }, value.cards.map((card, index) => el("button", { type: "button",
      class: "sb-card" + (value.current === card.id ? " sb-current" : ""), "aria-pressed": value.current === card.id ? "true" : "false",
      on: { click: () => { window.SB.place({ tab: "models", chosen: card.id }); select(host, "card", index); } } },
      el("span", { class: "sb-card-head" }, el("strong", { translate: "no" }, card.title), card.badge ? el("span", { class: `sb-badge sb-${card.badge}` }, card.badge) : null),
      el("span", { class: "sb-dim" }, card.subtitle),
      card.gain ? el("span", { class: "sb-card-score" }, ...window.SB.gain(card.gain)) : null))));
  };
})();

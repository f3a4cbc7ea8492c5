// What changed from one model to another: the maps, the texts, queries, pairs and categories. The page and the saved file use it.
(() => {
  "use strict";
  const { views, el, number, grouped, t } = window.SB;
  const CHUNK = 4000, LISTED = 60;
  const signed = (change) => `${change < 0 ? "−" : "+"}${number(Math.abs(change), 2)}`;

  views.changed = (root, host) => {
    let texts = [], key = null, value = null, drawing = null, rows = null, chosen = null;
    const blank = el("div", { class: "sb-empty" }), body = el("div", { class: "sb-changed" });
    const said = el("div", {}), maps = el("div", { class: "sb-changed-maps" }), list = el("div", { class: "sb-changed-list" }), rest = el("div", {});
    const count = el("span", { class: "sb-dim", role: "status" });
    const find = el("input", { type: "search", placeholder: "Find in both maps", "aria-label": "Find in both maps", on: { input: () => search() } });
    const clear = el("button", { type: "button", class: "sb-small-button", on: { click: () => { find.value = ""; count.textContent = ""; rows = chosen = null; drawing.choose(null); listed(); } } }, "Clear");
    body.append(said, maps, el("div", { class: "sb-changed-find" }, find, clear, count), list, rest);
    root.replaceChildren(blank, body);
    const textOf = (row) => texts[row];

    async function fetchTexts(wanted, n) {
      const found = value.texts || new Array(n);
      texts = found;
      for (let start = 0; !value.texts && start < n && key === wanted; start += CHUNK) {
        const part = await host.server.changed_texts({ key: wanted, start, count: CHUNK });
        if (part.error) { if (key === wanted) rest.prepend(el("p", { class: "sb-note", role: "status" }, part.error)); return; }
        part.forEach((text, i) => { found[start + i] = text; });
      }
      if (key === wanted) { root.dataset.texts = "ready"; listed(); }
    }

    function search() {
      const wanted = find.value.trim().toLowerCase();
      rows = wanted ? texts.flatMap((text, row) => ((text || "").toLowerCase().includes(wanted) ? [row] : [])) : null;
      count.textContent = wanted ? t`${grouped(rows.length)} found` : "";
      chosen = null;
      drawing.light(rows);
      listed();
    }

    const open = (row) => { chosen = row; rows = null; drawing.choose(row); listed(); };
    const line = (row, more, className) => el("li", { class: className || null }, el("button", { type: "button", on: { click: () => open(row) } }, el("span", { class: "sb-text", translate: "no" }, textOf(row) ?? "…"), el("span", { class: "sb-dim" }, more)));

    // Below the maps: the neighbours of the chosen text, or what was brushed or found, or what moved most.
    function listed() {
      if (!value) return;
      if (chosen !== null) {
        const side = (which) => el("div", {}, el("h4", {}, which ? "Nearest after" : "Nearest before"),
          el("ul", { class: "sb-changed-rows" }, drawing.nearOf(chosen, which).map((one) => line(one.row, one.changed ? (which ? "new" : "gone") : "", one.changed ? (which ? "sb-new" : "sb-gone") : ""))));
        list.replaceChildren(el("h3", { translate: "no" }, textOf(chosen) ?? "…"), el("p", { class: "sb-caption" }, drawing.told(chosen)), el("div", { class: "sb-sides" }, side(0), side(1)));
        return;
      }
      const among = rows || value.most;
      const order = rows ? [...among].sort((a, b) => drawing.movedOf(b) - drawing.movedOf(a) || a - b).slice(0, LISTED) : among;
      const count = grouped(among.length);
      const chosenTitle = among.length > LISTED ? t`${count} selected; showing the ${LISTED} that moved most` : t`${count} selected, largest movement first`;
      const title = rows ? chosenTitle : "Texts that moved most";
      list.replaceChildren(el("h3", {}, title),
        order.length ? el("ul", { class: "sb-changed-rows" }, order.map((row) => line(row, drawing.told(row)))) : el("p", { class: "sb-dim" }, "No texts here."));
    }

    const hits = (found, which) => el("div", {}, el("h4", {}, which ? "After" : "Before"), el("ol", { class: "sb-changed-rows" },
      found.map((hit) => el("li", { class: hit.changed ? (which ? "sb-new" : "sb-gone") : null },
        el("button", { type: "button", on: { click: () => { open(hit.row); maps.scrollIntoView({ block: "nearest" }); } } }, el("span", { class: "sb-text", translate: "no" }, hit.text),
          el("span", { class: "sb-dim" }, hit.changed ? (which ? "new" : "gone") : "", " ", number(hit.score, 2)))))));
    const query = (one, place) => el("details", { class: "sb-changed-query", open: place === 0 || innerWidth > 820 }, el("summary", {}, el("strong", { translate: "no" }, one.text), el("span", { class: "sb-dim" }, one.words)),
      el("div", { class: "sb-sides" }, hits(one.before, 0), hits(one.after, 1)));

    const pair = (one) => el("li", {}, el("div", {}, one.texts.map((text) => el("p", { translate: "no" }, text))),
      el("span", { class: "sb-changed-cosine" }, number(one.before, 2), " → ", el("b", {}, number(one.after, 2)), el("small", { class: "sb-dim" }, signed(one.after - one.before))));
    const pairs = (found, title) => el("div", {}, el("h4", {}, title), found.length ? el("ul", { class: "sb-changed-pairs" }, found.map(pair)) : el("p", { class: "sb-dim" }, "None."));

    function example(row) {
      const shown = el("p", { class: "sb-dim" }, row.example);
      window.SB.theirs(shown, row.theirs);
      return shown;
    }
    const categories = (found) => el("section", {}, el("h3", {}, "Confused categories:", el("span", { translate: "no" }, found.column)), el("p", { class: "sb-verdict" }, found.said),
      found.rows.length ? el("table", { class: "sb-parts sb-changed-confused" }, el("thead", {}, el("tr", {}, ["Categories", "Before", "After"].map((name) => el("th", { scope: "col" }, name)))),
        el("tbody", {}, found.rows.map((row) => el("tr", {}, el("th", { scope: "row" }, el("b", { translate: "no" }, `${row.categories[0]} · ${row.categories[1]}`), ...(row.example ? [example(row)] : [])),
          el("td", {}, String(row.before)), el("td", {}, String(row.after)))))) : el("p", { class: "sb-dim" }, "None."));

    return (next) => {
      blank.hidden = !next.empty;
      body.hidden = Boolean(next.empty);
      if (next.empty) { blank.textContent = next.empty; value = null; return; }
      const same = value && value.key === next.key;
      value = next;
      if (same) return;
      drawing = drawing || window.SB.morph(maps, { textOf, onRow: (row) => { chosen = row; rows = null; listed(); }, onRows: (found) => { chosen = null; rows = found.length ? found : null; listed(); } });
      key = next.key;
      rows = chosen = null;
      find.value = count.textContent = "";
      root.dataset.texts = "";
      said.replaceChildren(el("p", { class: "sb-said" }, next.said), ...next.more.map((words) => el("p", { class: "sb-dim" }, words)));
      rest.replaceChildren(
        ...(next.outcome ? [el("section", {}, el("h3", {}, "Scores of the training run"), next.outcome.of ? el("p", { class: "sb-dim" }, next.outcome.of) : null, window.SB.scores(next.outcome))] : []),
        ...(next.categories ? [categories(next.categories)] : []),
        el("section", {}, el("h3", {}, next.typed ? "Your queries" : "Three texts whose neighbors changed most"), next.queries.map(query)),
        el("section", {}, el("h3", {}, "Pairs that moved most"), el("div", { class: "sb-sides" }, pairs(next.closer, "Moved closer"), pairs(next.apart, "Moved apart"))),
        ...(next.notes.length ? [el("p", { class: "sb-note" }, next.notes.join("\n"))] : []));
      drawing.draw(next);
      listed();
      fetchTexts(key, next.n).catch(() => { root.dataset.texts = "missing"; });
    };
  };
})();

// Finding on the map: by words as they are typed, by meaning at Enter.
(() => {
  "use strict";
  const { el, grouped, t } = window.SB;

  // told: {n(), textOf(row), words(query) → Promise<rows or {error}> | null, hidden(row), meaning(query) → Promise<{rows, scores}> | null, light(rows), open(list), clear(), say(words)}
  function find(told) {
    let timer = 0, asked = 0;
    const box = el("input", { type: "search", class: "sb-map-find", placeholder: "Find in the map", "aria-label": "Find in the map", enterkeyhint: "search" });
    const how = el("select", { "aria-label": "Search by", hidden: !told.meaning }, el("option", { value: "words" }, "by words"), el("option", { value: "meaning" }, "by meaning"));

    // Where the texts are not all here, whoever has them looks.
    async function byWords(query) {
      if (told.words) { const found = await told.words(query); return found.error ? found : found.filter((row) => !told.hidden(row)); }
      const wanted = query.toLowerCase(), rows = [];
      for (let row = 0; row < told.n(); row += 1) if (!told.hidden(row) && (told.textOf(row) || "").toLowerCase().includes(wanted)) rows.push(row);
      return rows;
    }
    async function open() {
      const query = box.value.trim(), number = (asked += 1);
      clearTimeout(timer);
      if (!query) { told.clear(); return; }
      if (how.value === "words") {
        const rows = await byWords(query);
        if (number !== asked) return;
        if (rows.error) { told.say(""); told.open({ kind: "find", title: "Nothing was found", rows: [], empty: rows.error }); return; }
        told.say(t`${grouped(rows.length)} found`);
        told.open({ kind: "find", title: t`${grouped(rows.length)} with “${query}”`, rows, empty: "No text contains these words. Try searching by meaning." });
        return;
      }
      told.say("Searching…");
      const found = await told.meaning(query);
      if (number !== asked) return;
      told.say(found.error ? "" : t`${grouped(found.rows.length)} nearest`);
      told.open({ kind: "find", title: found.error ? "Nothing was found" : t`Nearest to “${query}”`, rows: found.rows || [], scores: found.scores, empty: found.error });
    }
    box.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); open(); } });
    box.addEventListener("input", () => {
      clearTimeout(timer);
      asked += 1;
      const query = box.value.trim();
      if (!query) { told.clear(); return; }
      if (how.value === "meaning") { told.say("Press Enter to find by meaning"); return; }
      const number = asked;
      timer = setTimeout(async () => { const rows = await byWords(query); if (number !== asked) return; if (rows.error) { told.say(rows.error); return; } told.say(t`${grouped(rows.length)} found; press Enter to list them`); told.light(rows); }, 120);
    });
    how.addEventListener("change", () => { if (box.value.trim()) open(); });
    return { box, how, clear() { box.value = ""; asked += 1; told.say(""); } };
  }

  window.SB.mapping.find = find;
})();

// The address: what was seen stands in it, and Back, Forward, a reload or a link lead there again.
(() => {
  "use strict";
  const { views, select, el, theirs, t } = window.SB;
  const NAMES = ["tab", "corpus", "model", "q", "mode", "drawn", "colour", "view", "from", "to", "ask", "alike", "chosen"];
  const OF_A_CORPUS = { alike: "", from: "", to: "", ask: "" };  // what was asked of the corpus that was chosen before
  let host = null, visits = 0, now = null, going = 0, settling = 0, again = null, acted = true, adjusted = "", pending = null;

  // One act of the visitor's is one place at most: what follows from it by itself belongs to it.
  const act = () => { acted = true; settling = 0; };
  for (const kind of ["pointerdown", "keydown", "input", "change"]) window.addEventListener(kind, act, { capture: true, passive: true });

  const read = () => {
    const found = new URLSearchParams(location.search);
    return Object.fromEntries(NAMES.filter((name) => found.get(name)).map((name) => [name, found.get(name)]));
  };

  // The last place, to which an address without one leads again; a private window keeps none.
  const LAST = "sbert-studio-last";
  function remember() {
    try {
      const here = read(), last = JSON.parse(localStorage.getItem(LAST) || "{}");
      // Should the data be deleted, only its name tells which it was.
      const named = now?.address.corpus === here.corpus ? now.corpus_name : last.corpus === here.corpus ? last.named : "";
      localStorage.setItem(LAST, JSON.stringify({ ...here, named }));
    } catch { /* nothing is kept */ }
  }
  function nameOf(corpus) {
    try {
      const last = JSON.parse(localStorage.getItem(LAST) || "{}");
      return corpus && last.corpus === corpus && typeof last.named === "string" ? last.named : "";
    } catch { return ""; }
  }
  function recall() {
    try {
      const kept = JSON.parse(localStorage.getItem(LAST) || "{}");
      return Object.fromEntries(NAMES.filter((name) => typeof kept[name] === "string" && fits(kept[name])).map((name) => [name, kept[name]]));
    } catch { return {}; }
  }
  // Typed texts are no part of an address, which is short and may be sent to others.
  const TYPED = "sbert-studio-typed", QUERY = "search-query", BOXES = ["similarity-a", "similarity-b", "matrix-lines", QUERY], LONGEST = 20000;
  // Longer values stand in no address: every request of the page carries it, and a server takes at most 64 KB of it. Links are read as far.
  const LONGEST_VALUE = 2000, fits = (value) => value && value.length <= LONGEST_VALUE;
  const boxOf = (id) => document.querySelector(`#${id} textarea, #${id} input`);
  // The tab's own storage survives a reload, which also follows a lost connection; the other one a restarted browser.
  const storages = () => [sessionStorage, localStorage];
  const keep = (texts) => { try { for (const storage of storages()) storage.setItem(TYPED, JSON.stringify(texts)); } catch { /* nothing is kept */ } };
  function typed() {
    try { return JSON.parse(storages().map((storage) => storage.getItem(TYPED)).find(Boolean) || "{}"); } catch { return {}; }
  }
  document.addEventListener("input", (event) => {
    if (!BOXES.some((id) => event.target === boxOf(id))) return;
    keep(Object.fromEntries(BOXES.map((id) => [id, (boxOf(id)?.value ?? "").slice(0, LONGEST)])));
  });
  const isReloaded = performance.getEntriesByType("navigation")[0]?.type === "reload";
  // What a link fills in comes first, and is replaced by what was typed after it.
  function restoreTyped() {
    if (!continued && !isReloaded) return;
    if (document.body.getAttribute("aria-busy") === "true") { setTimeout(restoreTyped, 100); return; }
    const texts = typed();
    for (const id of BOXES) {
      const box = boxOf(id);
      if (!box || typeof texts[id] !== "string" || !texts[id] || box.value === texts[id]) continue;
      box.value = texts[id];
      box.dispatchEvent(new Event("input", { bubbles: true }));
    }
  }
  let continued = false;
  function goOn() {
    const last = recall();
    let typed = null;
    try { typed = localStorage.getItem(TYPED); } catch { /* an exported file in a frame that denies storage */ }
    if (Object.keys(read()).length || !(Object.keys(last).length || typed)) return;
    const found = new URLSearchParams({ ...Object.fromEntries(new URLSearchParams(location.search)), ...last });
    if (found.size) history.replaceState(null, "", `${location.pathname}?${found}${location.hash}`);
    continued = true;
  }
  function startFresh() {
    try { for (const name of [LAST, TYPED]) for (const storage of storages()) storage.removeItem(name); } catch { /* nothing was kept */ }
    location.assign(location.pathname);
  }
  function tellContinued() {
    const tabs = document.querySelector(".sb-tabs");
    if (!continued || !tabs || document.querySelector(".sb-continued")) return;
    const note = el("div", { class: "sb-continued sb-dim", role: "status" }, el("span", {}, "Continued from your last visit."),
      el("button", { type: "button", class: "sb-small-button", on: { click: startFresh } }, "Start fresh"),
      el("button", { type: "button", class: "sb-plain-button", "aria-label": "Close", on: { click: () => note.remove() } }, "✕"));
    tabs.before(note);
  }

  // The data of the address was deleted: other data is to be chosen, and the address names it no more.
  function tellGone(words) {
    document.querySelector(".sb-continued")?.remove();
    write({ corpus: "", ...OF_A_CORPUS }, true);
    const button = (label, act) => el("button", { type: "button", class: "sb-small-button", on: { click: act } }, label);
    const note = el("div", { class: "sb-continued sb-gone", role: "alert" }, el("span", {}, words),
      button("Choose data", () => document.querySelector("#corpus input")?.focus()), button("Add data", () => document.getElementById("data-open")?.click()),
      el("button", { type: "button", class: "sb-plain-button", "aria-label": "Close", on: { click: () => note.remove() } }, "✕"));
    document.querySelector(".sb-tabs")?.before(note);
  }

  goOn();

  // Names that the page does not know, such as Gradio's own, stay as they are.
  function write(change, replace) {
    if (fits(change.q)) keep({ ...typed(), [QUERY]: "" });  // it was searched, and stands in the address
    const found = new URLSearchParams(location.search);
    for (const [name, value] of Object.entries(change)) if (fits(value)) found.set(name, value); else found.delete(name);
    const next = location.pathname + (found.size ? `?${found}` : "") + location.hash;
    if (next === location.pathname + location.search + location.hash) return;
    if (replace || !acted) history.replaceState(null, "", next);
    else { history.pushState(null, "", next); acted = false; }
    remember();
  }

  // Until the page has arrived where the address leads, what it passes on its way is no place of its own; nor is what it opens with.
  // A tab is seen with the part of it that was open there last.
  const part = (tab) => document.querySelector(`#tab-${tab} .sb-subtabs [id^="view-"][aria-selected="true"]`)?.id.slice("view-".length, -"-button".length) || "";
  // adjusting: what a hand turns step by step, all of whose steps are one place.
  const place = (change, adjusting = "") => {
    const view = part(change.tab), whole = "view" in change ? { ...change } : { ...change, view: view.startsWith("first-") ? "" : view };
    // An answer that comes once another tab was opened says what was asked, not where the visitor is.
    if (document.querySelector(`#tab-${change.tab}-button[aria-selected=false]`)) { delete whole.tab; delete whole.view; }
    if (now && Date.now() > going) write(whole, Date.now() < settling || (adjusting && adjusting === adjusted));
    else if (now && acted) pending = whole;
    adjusted = adjusting;
  };

  // Back to a place that names no corpus leads to the one that is there by itself; a link that names none leaves what is chosen.
  function go(whole) {
    const wanted = { tab: "similarity", ...read() }, tab = document.getElementById(`tab-${wanted.tab}-button`);
    again = pending = null;
    going = Date.now() + 20000;
    visits += 1;
    acted = false;  // what a visitor does on the way is a place of its own, once the page has arrived
    tab?.click();  // at once; whoever goes to another tab meanwhile stays there
    select(host, "go", { ...wanted, named: nameOf(wanted.corpus), whole: whole ? "1" : "", seen: tab ? "1" : "", visit: String(visits) });
  }

  // A result says what it was made with; once something else is chosen it is marked, and a click makes it again.
  // Where its models stand in a form of their own, the form tells by a key what it says now.
  const bars = new Map(), forms = {};
  function mark(root, bar, made) {
    if (!now) return;
    const otherwise = made.form ? forms[made.form] !== undefined && forms[made.form] !== made.key : made.model !== now.model && "another model";
    const stale = [otherwise === true ? "something else" : otherwise, made.corpus && made.corpus !== now.corpus && "another corpus"].filter(Boolean);
    root.classList.toggle("sb-stale", stale.length > 0);
    bar.classList.toggle("sb-made-stale", stale.length > 0);
    theirs(bar, made.theirs);
    bar.replaceChildren(el("span", {}, stale.length ? stale.length > 1 ? t`Computed with ${made.words}; ${stale[0]} and ${stale[1]} are selected now.` : t`Computed with ${made.words}; ${stale[0]} is selected now.` : made.words));
    if (stale.length && made.again) bar.append(el("button", { type: "button", class: "sb-small-button", on: { click: () => document.getElementById(made.again)?.click() } }, "Run again"));
  }
  function made(root, value) {
    if (!value || !value.made) {
      bars.get(root)?.bar.remove();
      bars.delete(root);
      root.classList.remove("sb-stale");
      return;
    }
    const bar = bars.get(root)?.bar || el("div", { class: "sb-made sb-dim", role: "status" });
    bars.set(root, { bar, made: value.made, first: window.SB.isSighting?.(root) ?? false });
    if (!bar.isConnected) root.before(bar);
    mark(root, bar, value.made);
  }

  // Once its button is clicked, a result counts as asked for, even before the answer: it is not made again with another model.
  window.addEventListener("click", (event) => {
    const button = event.target.closest?.("button");
    if (button?.id) for (const one of bars.values()) if (one.made.again === button.id) one.first = false;
  }, { capture: true, passive: true });

  const markAll = () => { for (const [root, { bar, made: of }] of bars) if (root.isConnected) mark(root, bar, of); else bars.delete(root); };

  views.form = () => (value) => {
    forms[value.form] = value.key;
    markAll();
  };

  views.place = (_root, given) => {
    host = given;
    return (value) => {
      window.SB.soon?.();
      const first = now === null, arrived = value.visit === String(visits), other = !first && !arrived && value.corpus !== now.corpus;
      now = value;
      markAll();
      if (arrived) {
        if (again !== null) { setTimeout(go, 100, again); return undefined; }
        going = 0;
        if (value.gone) tellGone(value.gone);
        else remember();
        if (visits === 1) restoreTyped();
        if (pending) write(pending, false);
        pending = null;
        settling = Date.now() + 2000;  // the parts of a tab open one after the other: no places of their own
      }
      if (other) document.querySelector(".sb-gone")?.remove();
      if (first) tellContinued();
      if (first && !Object.keys(read()).length) restoreTyped();  // on a page whose address names no place
      if (first && Object.keys(read()).length) { remember(); go(false); }
      else if (Date.now() > going) write(other ? { ...value.address, ...OF_A_CORPUS } : value.address, first);
      return undefined;
    };
  };

  // The language that the page opens in, and whether its address names a corpus, in whose place no sample is opened.
  const opening = () => window.SB.language.now() + (read().corpus ? " linked" : "");
  views.language = (_root, chooser) => {
    let spoken = window.SB.language.now();
    window.SB.language.on(() => {
      const now = window.SB.language.now();
      if (now === spoken) return;
      spoken = now;
      // Sample texts follow the language only while no result shows what was made of them.
      select(chooser, [...bars].some(([root, one]) => root.isConnected && !one.first) ? "results" : "language", now);
    });
    return (value) => { if (value.words) window.SB.language.rename(value.words); };
  };

  // Whether the page is where its address leads, and what is chosen there: data and model, by which a first result is computed.
  const isFirst = (root) => Boolean(bars.get(root)?.first);  // a result that the visitor did not ask for
  const arrived = () => now !== null && Date.now() > going;
  const chosen = (by) => `${window.SB.language.now()} ${now?.model} ${by === "model" ? "" : now?.corpus}`;

  // Back pressed twice: the second place is gone to once the first is there, and nothing writes over it until then.
  window.addEventListener("popstate", () => {
    if (!host) return;
    if (Date.now() < going) again = true;
    else go(true);
  });
  Object.assign(window.SB, { place, made, opening, isFirst, arrived, chosen });
})();

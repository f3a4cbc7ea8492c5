// Which language the page speaks: the visitor's choice, else the address', else the browser's. Runs before Gradio starts.
(() => {
  "use strict";
  const KEY = "sbert-studio-language", ENGLISH = { name: "English", tag: "en" };
  const { languages = {} } = window.SB_PAGE || {};
  const all = { en: ENGLISH, ...languages };
  const wanted = window.SB_TONGUES || navigator.languages || ["en"];  // Gradio is told another: see languages.py

  function saved() {
    try { return localStorage.getItem(KEY); } catch { return null; }
  }
  const asked = () => {
    const name = (new URLSearchParams(location.search).get("lang") || "").toLowerCase();
    return Object.keys(all).find((one) => name === one || name.startsWith(`${one}-`));
  };
  // The first of the browser's languages that the page has.
  const usual = () => wanted.map((tag) => Object.keys(all).find((name) => tag.toLowerCase().split("-")[0] === name)).find(Boolean) || "en";

  let now = asked() || (saved() in all ? saved() : usual());
  const listeners = new Set();
  const words = {};
  // The words of a language are fetched once, when they are first wanted.
  function load(name) {
    words[name] ||= fetch(languages[name].url).then((answer) => { if (!answer.ok) throw new Error(`${answer.status}`); return answer.json(); }).then((found) => window.SB.translator(found.words));
    return words[name];
  }

  async function tell() {
    const name = now;
    let translate = null;
    if (name !== "en") {
      try { translate = await load(name); } catch { delete words[name]; now = "en"; return tell(); }  // away: English is what there is
    }
    if (name !== now) return undefined;
    document.documentElement.lang = all[name].tag;
    for (const listener of listeners) listener(translate);
    return undefined;
  }

  window.SB.language = {
    now: () => now,
    next: () => { const names = Object.keys(all); return names[(names.indexOf(now) + 1) % names.length]; },
    name: (name) => all[name].name,
    tag: (name) => all[name].tag,
    choose(name) {
      now = name;
      try { localStorage.setItem(KEY, name); } catch { /* a private window keeps nothing */ }
      return tell();
    },
    // Told the translator of the language, or null for English, at once where it is known and whenever it changes.
    on(listener) { listeners.add(listener); },
    start: tell,
  };
  if (now !== "en") load(now).catch(() => { delete words[now]; });
})();

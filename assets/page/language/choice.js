// Which language the page speaks: the visitor's choice, else the address', else the browser's. Runs before Gradio starts.
(() => {
  "use strict";
  const KEY = "sbert-studio-language", ENGLISH = { name: "English", tag: "en" };
  const { languages = {} } = window.SB_PAGE || {};
  const all = { en: ENGLISH, ...languages };
  const wanted = window.SB_TONGUES || navigator.languages || ["en"];  // Gradio is told another: see language_switch.py

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
  const MOST = 3000;
  let translate = null;
  // Texts that were filled in or came from the server in another language → the same in the language of now.
  const filled = new Map(), renamed = new Map();
  const tellServer = () => { document.cookie = `${KEY}=${now}; path=/; max-age=31536000; SameSite=${location.protocol === "https:" ? "None; Secure; Partitioned" : "Lax"}`; };
  const words = {};
  // The words of a language are fetched once, when they are first wanted.
  function load(name) {
    words[name] ||= fetch(languages[name].url).then((answer) => { if (!answer.ok) throw new Error(`${answer.status}`); return answer.json(); }).then((found) => window.SB.translator(found.words));
    return words[name];
  }

  async function tell() {
    const name = now;
    translate = null;
    if (name !== "en") {
      try { translate = await load(name); } catch { delete words[name]; now = "en"; return tell(); }  // away: English is what there is
    }
    if (name !== now) return undefined;
    document.documentElement.lang = all[name].tag;
    for (const [shown, [parts, values]] of [...filled]) rename(shown, fill(parts, values));
    report();
    return undefined;
  }
  const report = () => { for (const listener of listeners) listener(translate, renamed); };
  function rename(old, text) {
    renamed.delete(text);
    if (old !== text) renamed.set(old, text);
    if (renamed.size > MOST) renamed.delete(renamed.keys().next().value);
  }
  function fill(parts, values) {
    const text = translate ? translate.fill(parts, values) : String.raw({ raw: parts }, ...values);
    if (values.length) filled.set(text, [parts, values]);
    if (filled.size > MOST) filled.delete(filled.keys().next().value);
    return text;
  }

  // An address that names a language names the chosen one from now on, so that a reload does not bring the former one back.
  function writeAddress() {
    const found = new URLSearchParams(location.search);
    if (!found.has("lang") || found.get("lang") === now) return;
    found.set("lang", now);
    history.replaceState(history.state, "", `${location.pathname}?${found}${location.hash}`);
  }
  window.addEventListener("popstate", writeAddress);

  window.SB.language = {
    now: () => now,
    next: () => { const names = Object.keys(all); return names[(names.indexOf(now) + 1) % names.length]; },
    name: (name) => all[name].name,
    tag: (name) => all[name].tag,
    choose(name) {
      now = name;
      try { localStorage.setItem(KEY, name); } catch { /* a private window keeps nothing */ }
      writeAddress();
      tellServer();
      return tell();
    },
    fill,
    // Of what the server has sent until now: {text that it sent: the same in the language of now}.
    rename(words) {
      for (const [old, text] of Object.entries(words)) rename(old, text);
      report();
    },
    // Told the translator of the language, or null for English, and the renamed texts, whenever one of them changes.
    on(listener) { listeners.add(listener); },
    start: tell,
  };
  tellServer();
  if (now !== "en") load(now).catch(() => { delete words[now]; });
})();

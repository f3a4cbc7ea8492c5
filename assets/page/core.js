// The ground of the page's own views. A view receives JSON and builds elements with textContent, so that no text
// of a visitor's file is ever read as HTML or as a template.
(() => {
  "use strict";
  if (window.SB) return;
  const SVG = "http://www.w3.org/2000/svg";
  const views = {};

  // A text with values, in the page's language: t`${n} texts` has the key "{0} texts". It is English in exported files.
  const t = (parts, ...values) => (window.SB.language ? window.SB.language.fill(parts, values) : String.raw({ raw: parts }, ...values));

  function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (name === "on") for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
      else if (name === "style") for (const [property, setting] of Object.entries(value)) node.style.setProperty(property, setting);
      else node.setAttribute(name, value === true ? "" : String(value));
    }
    for (const child of children.flat()) if (child !== null && child !== undefined) node.append(child);
    return node;
  }
  const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
  const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

  // Names that visitors gave, which no language translates: models, corpora, columns.
  function theirs(node, names) {
    if (names?.length) node.dataset.theirs = JSON.stringify(names);
    else delete node.dataset.theirs;
  }
  // Sentences one after the other; what stands between them depends on the language (studio.css).
  const sentences = (parts) => parts.map((part) => el("span", { class: "sb-sentence" }, part));

  // Bind a view to a gr.HTML: host is {element, props, trigger, watch, server}.
  function mount(name, host) {
    const root = host.element.querySelector(".sb-view");
    const draw = views[name](root, host);
    const update = () => {
      const value = host.props.value;
      root.hidden = !value;
      theirs(root, [...(value?.theirs || []), ...(value?.made?.theirs || [])]);
      if (value) draw(value);
      if (value && value.live) window.SB.stir?.();
      window.SB.made?.(root, value);
      window.SB.soon?.();
    };
    host.watch("value", update);
    update();
  }

  const select = (host, value, index) => host.trigger("select", { index, value });
  const token = (name) => getComputedStyle(document.body).getPropertyValue(name).trim();
  const isDark = () => document.body.classList.contains("dark") || document.documentElement.classList.contains("dark");

  const listeners = new Set();
  function onTheme(listener) {
    listeners.add(listener);
  }
  function watchTheme() {
    let dark = isDark();
    const observer = new MutationObserver(() => {
      if (isDark() === dark) return;
      dark = isDark();
      for (const listener of listeners) listener();
    });
    for (const node of [document.body, document.documentElement]) observer.observe(node, { attributes: true, attributeFilter: ["class"] });
  }
  function setTheme(dark) {
    document.body.classList.toggle("dark", dark);
    document.documentElement.classList.remove("dark");
    try { localStorage.setItem("sbert-studio-theme", dark ? "dark" : "light"); } catch { /* a private window keeps nothing */ }
  }
  function savedTheme() {
    try { return localStorage.getItem("sbert-studio-theme"); } catch { return null; }
  }

  // Read when the first chart is drawn: it is larger than all the rest of the page.
  let reading;
  const arrived = () => {
    reading ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = document.querySelector("meta[name=sb-plotly]").content;
      script.onload = () => resolve(window.Plotly);
      script.onerror = () => {
        reading = null; // the next chart tries again
        reject(new Error("plotly.js failed to load"));
      };
      document.head.append(script);
    });
    return reading;
  };
  // The library, for a chart in ``node``; null, and said there, where it did not arrive.
  async function plotly(node) {
    const found = await arrived().catch(() => null);
    node.querySelector(".sb-empty")?.remove();
    if (!found) node.replaceChildren(el("p", { class: "sb-empty" }, "The chart cannot be drawn because part of the page failed to load. Reload the page."));
    return found;
  }

  // Plotly reads a little HTML in its texts; these three characters are all it takes to stop that.
  const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const number = (value, digits = 3) => (value === null || value === undefined || Number.isNaN(value) ? "–" : Number(value).toFixed(digits));
  const grouped = (value) => Number(value).toLocaleString("en-US");

  function duration(seconds) {
    if (seconds === null || seconds === undefined) return "–";
    const whole = Math.max(0, Math.round(seconds));
    const minutes = Math.floor(whole / 60), hours = Math.floor(minutes / 60);
    if (hours) return t`${hours} h ${minutes % 60} min`;
    return minutes ? t`${minutes} min ${String(whole % 60).padStart(2, "0")} s` : t`${whole} s`;
  }

  // A Cancel button shows once its work has gone on for a moment, so that quick answers do not make the page jump.
  // Several events may be one work, such as an upload and the search after it: each has a number.
  const works = {}, waiting = {}, stopped = new Set();
  function busy(id, number, on) {
    const under = (works[id] ||= new Set());
    if (on) document.getElementById(`${id}led`)?.remove();
    if (on) stopped.delete(id);
    if (on) under.add(number);
    else under.delete(number);
    window.SB.stir?.();
    clearTimeout(waiting[id]);
    const show = () => document.getElementById(id)?.classList.toggle("sb-on", under.size > 0);
    if (under.size) waiting[id] = setTimeout(show, 800);
    else show();
  }
  // Work that was stopped leads to no place in the address, and does not begin again by itself.
  function halt(id) {
    stopped.add(id);
    window.SB.decline?.(id.replace(/-cancel$/, ""));
  }
  const isStopped = (id) => stopped.has(id);
  // Cancel was pressed: what is left of the work ends without a word, so that the place of its button says it, until the next work begins.
  function idle(id) {
    halt(id);
    works[id]?.clear();
    busy(id, -1, false);
    const button = document.getElementById(id);
    if (!button || document.getElementById(`${id}led`)) return;
    button.after(el("p", { id: `${id}led`, class: "sb-cancelled sb-dim", role: "status" }, "Cancelled. The previous results are unchanged."));
  }

  // Stop was pressed: said at once, for the answer may wait for a step of the training.
  function markStopping(event) {
    const button = event.target.closest?.("button.sb-stop");
    if (!button) return;
    button.classList.add("sb-stopping");
    setTimeout(() => button.classList.remove("sb-stopping"), 60000);
  }

  // What a choice has changed lies out of sight, below a long list on a phone or above it: go there, with what was asked still seen
  // above it where there is room for both.
  function reveal(id, asked) {
    const place = document.getElementById(id), above = asked && document.getElementById(asked);
    const box = place && place.getBoundingClientRect();
    if (!box || (box.top >= 0 && box.top < innerHeight * 0.7)) return;
    const both = above && box.top - above.getBoundingClientRect().top < innerHeight * 0.6;
    (both ? above : place).scrollIntoView({ block: "start", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
  }

  // Sections that the visitor left open are open again on the next visit.
  const OPEN = "sbert-studio-open-";
  const wasOpen = (id) => localStorage.getItem(OPEN + id) === "1";
  function setOpen(id, open) {
    if (open) localStorage.setItem(OPEN + id, "1");
    else localStorage.removeItem(OPEN + id);
  }
  const buttonOf = (section) => [...section.children].find((child) => child.tagName === "BUTTON");
  const isOpen = (section) => buttonOf(section)?.classList.contains("open");
  function rememberSections() {
    const restored = new WeakSet();
    document.addEventListener("click", (event) => {
      const section = event.target.closest?.(".sb-remember > button")?.parentElement;
      if (section && event.isTrusted) setOpen(section.id, !isOpen(section));
    }, true);
    const restore = () => {
      for (const section of document.querySelectorAll(".sb-remember")) {
        const button = buttonOf(section);
        if (!button || restored.has(section)) continue;
        restored.add(section);
        // Gradio may still be mounting it, and closes it again.
        if (wasOpen(section.id)) for (const wait of [0, 300, 1000]) setTimeout(() => wasOpen(section.id) && !isOpen(section) && button.click(), wait);
      }
    };
    new MutationObserver(restore).observe(document.body, { childList: true, subtree: true });
  }

  // A button that a list asked for, such as the download of a run that had to be opened first.
  function pressWanted() {
    const wanted = window.SB.wanted;
    window.SB.wanted = "";
    if (wanted) setTimeout(() => document.getElementById(wanted)?.click(), 60);
  }

  window.SB = { t, sentences, pressWanted, wasOpen, setOpen, theirs, busy, idle, halt, isStopped, reveal, duration, views, el, svg, mount, select, token, isDark, onTheme, setTheme, plotly, plain, number, grouped };

  function start() {
    document.addEventListener("click", markStopping);
    rememberSections();
    watchTheme();
    const saved = savedTheme();
    if (saved && !new URLSearchParams(location.search).has("__theme")) {
      // Gradio sets its own scheme while it mounts; the visitor's choice comes after it.
      const apply = () => setTheme(saved === "dark");
      apply();
      for (const wait of [100, 400, 1200]) setTimeout(apply, wait);
    }
  }
  if (document.body) start();
  else document.addEventListener("DOMContentLoaded", start);
})();

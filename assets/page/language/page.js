// The page in another language: what is seen is translated where it stands, and follows whatever changes. What visitors wrote stays.
(() => {
  "use strict";
  const ATTRIBUTES = ["title", "placeholder", "aria-label", "alt", "data-name", "data-text", "aria-valuetext"];
  const SILENT = new Set(["SCRIPT", "STYLE", "CODE", "PRE", "TEXTAREA", "NOSCRIPT"]);
  // Gradio's parts cannot carry the attribute. A list of the class sb-data offers what visitors named, beside these words of the page's own.
  const DATA = "[translate='no'], .file-preview .filename", LISTED = ".sb-data li[role='option'], .sb-data .token, .sb-data input";
  const OWN = new Set(["All datasets", "No category", "None", "none", "Off", ...((window.SB_PAGE || {}).own || [])]);
  const CHOOSER = "input[role='listbox'], input[role='combobox']";
  const texts = new WeakMap(), attributes = new WeakMap(), inputs = new WeakMap();
  let translate = null, look = null, version = 0;

  const kept = (node) => Boolean(node.closest(DATA));
  const theirs = (node, words) => Boolean(node.closest(LISTED)) && !OWN.has(words.trim());

  // What visitors named, as the view around it tells: models, corpora, columns.
  const lists = new Map();
  function names(element) {
    const told = element.closest("[data-theirs]")?.dataset.theirs;
    if (!told) return [];
    if (!lists.has(told)) lists.set(told, JSON.parse(told));
    return lists.get(told);
  }

  function text(node) {
    const before = texts.get(node);
    if (before && node.data === before.shown) {
      if (look && before.by === version) return;
      if (before.source !== node.data) node.data = before.source;
    }
    const shown = !theirs(node.parentElement, node.data) && look && look(node.data, names(node.parentElement));
    if (shown === null || shown === undefined || shown === false || shown === node.data) { texts.delete(node); return; }
    texts.set(node, { source: node.data, shown, by: version });
    node.data = shown;
  }
  function attribute(element, name) {
    const value = element.getAttribute(name);
    if (value === null) return;
    const all = attributes.get(element) || {}, before = all[name];
    let source = value;
    if (before && value === before.shown) {
      if (look && before.by === version) return;
      source = before.source;
    }
    const shown = (look && !(element.matches("li") && theirs(element, source)) && look(source, names(element))) || source;
    if (translate && element.role === "option" && name === "aria-label") remember(element, source, shown);
    if (shown === source) delete all[name];
    else all[name] = { source, shown, by: version };
    attributes.set(element, all);
    if (shown !== value) element.setAttribute(name, shown);
  }

  // A list shows its choice in a box: the box shows the translation, and whoever asks it is told the English, Gradio first of all.
  const own = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value");
  function input(box) {
    if (kept(box)) return;
    let state = inputs.get(box);
    if (!state) {
      if (!translate) return;
      state = { source: own.get.call(box), shown: null };
      inputs.set(box, state);
      Object.defineProperty(box, "value", { configurable: true,
        get: () => { const value = own.get.call(box); return value === state.shown ? state.source : named(box, value); },
        set: (value) => { state.source = value; show(box, state); } });
      box.addEventListener("blur", () => requestAnimationFrame(() => show(box, state)));
      // Gradio filters the options when a key is pressed; what an input method writes comes after the key, or without one.
      box.addEventListener("input", () => box.dispatchEvent(new KeyboardEvent("keydown", { key: "Process", bubbles: true })));
    } else if (own.get.call(box) !== state.shown && document.activeElement === box) return;
    show(box, state);
  }
  function show(box, state) {
    state.shown = (translate && state.source && !theirs(box, String(state.source)) && translate(String(state.source))) || state.source;
    if (own.get.call(box) !== state.shown) own.set.call(box, state.shown);
  }
  // Gradio looks for what is typed among the English names: what is typed in the page's language is told to it as the shortest name that says it.
  const choices = new Map();
  function remember(option, source, shown) {
    const list = option.id.replace(/-option-\d+$/, "");
    if (!choices.has(list)) choices.set(list, new Map());
    choices.get(list).set(source, shown.toLowerCase());
  }
  function named(box, typed) {
    const known = /[^\x00-\u024f]/.test(typed) ? choices.get(box.getAttribute("aria-controls")) : null, wanted = typed.trim().toLowerCase();
    const fitting = known ? [...known].filter(([, shown]) => shown.includes(wanted)).map(([source]) => source) : [];
    const shortest = fitting.sort((one, other) => one.length - other.length)[0];
    return shortest ? shortest.slice(0, -1) : typed;  // not the whole name, so that Gradio writes it once it is chosen
  }

  function walk(root) {
    if (root.nodeType === Node.TEXT_NODE) {
      const parent = root.parentElement;
      if (parent && !SILENT.has(parent.tagName) && !kept(parent)) text(root);
      return;
    }
    if (root.nodeType !== Node.ELEMENT_NODE || kept(root)) return;
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT, { acceptNode: (node) => {
      if (node.nodeType === Node.TEXT_NODE) return NodeFilter.FILTER_ACCEPT;
      if (node.tagName === "TEXTAREA") { attribute(node, "placeholder"); attribute(node, "aria-label"); }
      return SILENT.has(node.tagName) || node.matches(DATA) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT;
    } });
    if (SILENT.has(root.tagName)) { if (root.tagName === "TEXTAREA") { attribute(root, "placeholder"); attribute(root, "aria-label"); } return; }
    for (let node = walker.currentNode; node; node = walker.nextNode()) {
      if (node.nodeType === Node.TEXT_NODE) text(node);
      else {
        for (const name of ATTRIBUTES) if (node.hasAttribute(name)) attribute(node, name);
        if (node.matches(CHOOSER)) input(node);
      }
    }
  }

  const observer = new MutationObserver((changes) => {
    for (const change of changes) {
      if (change.type === "childList") change.addedNodes.forEach(walk);
      else if (change.type === "characterData") walk(change.target);
      else if (!kept(change.target)) attribute(change.target, change.attributeName);
    }
  });
  window.SB.language.on((found, renamed) => {
    translate = found;
    version += 1;
    look = translate || renamed.size ? (text, theirs) => renamed.get(text) ?? (translate && translate(text, theirs)) : null;
    observer.disconnect();
    walk(document.documentElement);
    if (look) observer.observe(document.documentElement, { childList: true, subtree: true, characterData: true, attributes: true, attributeFilter: ATTRIBUTES });
  });
  window.SB.language.start();
})();

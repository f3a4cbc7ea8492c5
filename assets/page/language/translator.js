// English in, another language out: whole texts of the page's own, found in the language's catalog.
(() => {
  "use strict";
  const LATIN = /[A-Za-z]{2}|\d s$/, CJK = /[\u3400-\u9fff）”]$/;
  // Gradio's own texts with a value, which only it can fill in.
  const GRADIO = ["In queue: {0} of {1}", "queue: {0}/{1} |", "number input for {0}", "range slider for {0}", "Remove {0}",
    "Invalid file type: {0}. Only {1} allowed.", "Invalid file types: {0}. Only {1} allowed."];
  const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const pattern = (key) => new RegExp(`^${key.split(/\{\d\}/).map(escaped).join("(.+?)")}$`);
  const ended = (text) => (/[。？！…]$/.test(text) ? text : CJK.test(text) ? `${text}。` : `${text}.`);

  // words: {English: other}; "{0}" is filled in and looked up, "{=0}" is filled in as it is.
  function translator(words) {
    const known = new Map(Object.entries(words));
    const gradio = GRADIO.filter((key) => known.has(key)).map((key) => [key, pattern(key)]);
    // Errors are kept without a capital letter and a full stop, and shown as sentences.
    function find(text) {
      for (const form of [text, text[0].toLowerCase() + text.slice(1)]) {
        if (known.has(form)) return known.get(form);
        if (form.endsWith(".") && known.has(form.slice(0, -1))) return ended(known.get(form.slice(0, -1)));
      }
      return null;
    }
    const value = (one) => (typeof one === "string" && one ? find(one) ?? one : String(one));
    const filled = (shown, values) => shown.replace(/\{(=?)(\d+)\}/g, (_, as, at) => (as ? String(values[at]) : value(values[at])));
    function look(text, theirs = []) {
      const bare = text.trim().replace(/\s+/g, " ");
      if (!LATIN.test(bare) || theirs.includes(bare)) return null;
      let found = find(bare);
      for (const [key, form] of found === null ? gradio : []) {
        const [, ...values] = form.exec(bare) || [];
        if (values.length) found = filled(known.get(key), values);
      }
      return found === null ? null : /^\s*/.exec(text)[0] + found + /\s*$/.exec(text)[0];
    }
    // The text of a template literal; a value that is a text of the page's own is translated as well.
    look.fill = (parts, values) => {
      const key = parts.reduce((whole, part, at) => `${whole}{${at - 1}}${part}`);
      const found = known.get(key.trim());
      // Nothing but punctuation around the values.
      if (found === undefined) return filled(/[A-Za-z]/.test(key) ? key : key.replace(/[;:,] | \(|\)/g, (mark) => known.get(mark) ?? mark), values);
      return /^\s*/.exec(key)[0] + filled(found, values) + /\s*$/.exec(key)[0];
    };
    return look;
  }

  window.SB.translator = translator;
})();

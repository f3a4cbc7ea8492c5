// English in, another language out: whole texts by a look-up, what was filled in by templates ("{0} of {1} rows").
(() => {
  "use strict";
  const HOLE = /\{(\d+)\}/, LATIN = /[A-Za-z]{2}|\d s$/, WORDS = /[A-Za-z]{2,}[^A-Za-z]+(?=[A-Za-z]{2})/g;
  const KEPT = 4000, DEEP = 6, MOST = 40, WEAK = 9, PARTS = /[;:,.·–]( |$)/;
  const CJK = /[\u3000-\u303f\u3400-\u9fff\uff00-\uffef]/;
  const NUMBERS = /^[\d.]+(, [\d.]+)+$/;  // a list of them is one thing
  const OPAQUE = 0xe000;  // letters of nobody's, which stand for names while a text is read
  const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const several = (text) => /[A-Za-z]{2,}[ ,;:.]+\S*[A-Za-z]{2,}/.test(text);
  const wordy = (text) => (text.match(WORDS) || []).length >= 3;

  // A template as a pattern: its fixed parts, and which of the holes is caught where.
  function compiled(key, shown) {
    const parts = key.split(/\{\d+\}/), holes = [...key.matchAll(/\{(\d+)\}/g)].map((found) => found[1]);
    // What is filled in may be nothing where it follows a letter, as the plural's s does.
    const body = parts.map((part, at) => (at === 0 ? "" : /\S$/.test(parts[at - 1]) ? "(.*?)" : "(.+?)") + escaped(part)).join("");
    return { first: parts[0], last: parts[parts.length - 1], dotted: key.includes(" · "), size: parts.join("").replace(/\s/g, "").length, pattern: new RegExp(`^${body}$`, "s"), holes, shown };
  }

  // Text without a full stop, or begun with a small letter, is looked up as well: errors are kept so, and shown as sentences.
  function forms(text) {
    const small = /^[A-Z][^A-Z]/.test(text) ? text[0].toLowerCase() + text.slice(1) : null;
    const found = [[text, ""]];
    if (small) found.push([small, ""]);
    if (text.endsWith(".") && !text.endsWith("..")) for (const [form] of [...found]) found.push([form.slice(0, -1), "。"]);
    return found;
  }

  // words: {English: other}; in the other, "{0}" is filled in and translated in its turn, "{=0}" is filled in as it is.
  function translator(words) {
    const whole = new Map(), heads = new Map(), tails = new Map(), rest = [];
    const put = (index, key, one) => { if (!index.has(key)) index.set(key, []); index.get(key).push(one); };
    for (const [key, shown] of Object.entries(words)) {
      if (!HOLE.test(key)) { whole.set(key, shown); continue; }
      const one = compiled(key, shown);
      if (one.first.length > 1) put(heads, one.first.slice(0, 2), one);
      else if (one.last.length > 1) put(tails, one.last.slice(-2), one);
      else rest.push(one);
    }
    let known = new Map(), names = new Set();
    const readings = new Map();  // of each set of names: what is a name in one place is a word in another

    function filled(one, found, depth) {
      let sure = true;
      const value = one.shown.replace(/\{(=?)(\d+)\}/g, (_, as, hole) => {
        const piece = found[one.holes.indexOf(hole) + 1] ?? "";
        if (NUMBERS.test(piece)) return piece.replaceAll(", ", "、");
        if (as) {
          if (one.size < WEAK && one.holes.length > 1 && several(piece)) sure = false;
          return piece;
        }
        const other = look(piece, depth + 1);
        if (other === null && (one.size < WEAK ? several(piece) : wordy(piece))) sure = false;
        return other ?? piece;
      });
      return { value, sure };
    }
    // A template of few letters fits almost anything: what it catches may then be no row of several things, unless nothing else is known.
    function templated(text, depth, strict) {
      const fitting = forms(text).flatMap(([form, end]) => [...(heads.get(form.slice(0, 2)) || []), ...(tails.get(form.slice(-2)) || []), ...rest]
        .filter((one) => form.length >= one.first.length + one.last.length && form.startsWith(one.first) && form.endsWith(one.last)).map((one) => [one, form, end]));
      let poor = null;
      for (const [one, form, end] of fitting.sort((a, b) => b[0].size - a[0].size)) {
        const found = one.pattern.exec(form);
        if (!found || (strict && one.size < WEAK && found.some((piece, at) => at && PARTS.test(piece) && !NUMBERS.test(piece)))) continue;
        // What stands between dots is said by itself.
        if (strict && !one.dotted && found.some((piece, at) => at && piece && piece.includes(" · "))) continue;
        // "second: 10 of 4,252 words …": the name before the colon is not of the sentence.
        if (strict && !one.first && /: ./.test(found[1])) continue;
        const { value, sure } = filled(one, found, depth);
        if (sure) return ended(value, end);
        // A few fixed letters around much that nobody knows say little: another reading may know it.
        if (poor === null && one.size > 8) poor = ended(value, end);
      }
      return poor;
    }
    // Several in a row, each by itself: what is between them is put in the other language's way.
    function parted(text, between, join, all, depth) {
      const parts = text.split(between);
      if (parts.length < 2) return null;
      const found = parts.map((part) => look(part, depth + 1));
      if (found.every((one) => one === null)) return null;
      if (all && found.some((one, at) => one === null && LATIN.test(parts[at]) )) return null;
      return join(found.map((one, at) => one ?? parts[at]));
    }
    // "score: rank correlation 0.6": what stands before may be a visitor's name.
    function headed(text, depth) {
      const at = text.indexOf(": "), said = at < 0 ? null : look(text.slice(at + 2), depth + 1);
      return said === null ? null : `${look(text.slice(0, at), depth + 1) ?? text.slice(0, at)}：${said}`;
    }
    // "Edit: Where is my parcel?": a word of ours before what a visitor wrote.
    function named(text) {
      const at = text.indexOf(": "), head = at < 0 ? undefined : whole.get(text.slice(0, at));
      return head === undefined ? null : `${head}：${text.slice(at + 2)}`;
    }
    // "the file is empty (rows 3, 7).": what stands in brackets is said of the rest.
    function bracketed(text, depth) {
      const found = /^(.+) \(([^()]+)\)([.:]?)$/s.exec(text), said = found && look(found[1], depth + 1), more = found && look(found[2], depth + 1);
      return !found || (said === null && more === null) ? null : `${said ?? found[1]}（${more ?? found[2]}）${{ ".": "。", ":": "：" }[found[3]] || ""}`;
    }
    const sentences = (parts) => parts.reduce((text, part) => text + (CJK.test(text.slice(-1)) ? "" : " ") + part);
    function sought(text, depth) {
      for (const [form, end] of forms(text)) if (whole.has(form)) return ended(whole.get(form), end);
      const first = templated(text, depth, true);
      if (first !== null) return first;
      // A number and what it counts; what is said in brackets behind it is of the whole.
      const count = !/\(rows? [^()]+\)[.:]?$/.test(text) && /^([+−-]?[\d.,]+%?) (.+)$/s.exec(text), counted = count && look(count[2], depth + 1);
      if (counted) return `${count[1]} ${counted}`;
      const marked = /^([✓■!?…] |\d+% )(.+)$/s.exec(text), after = marked && look(marked[2], depth + 1);
      if (after) return marked[1] + after;
      return parted(text, /(?<=[.!?…])\s+(?=[\p{Lu}\p{Co}\d"'“‘(])/u, sentences, false, depth)
        ?? parted(text, " · ", (parts) => parts.join(" · "), false, depth)
        ?? parted(text, " – ", (parts) => parts.join(" – "), false, depth)
        ?? parted(text, "; ", (parts) => parts.join("；"), true, depth)
        ?? bracketed(text, depth)
        ?? headed(text, depth)
        ?? parted(text, /, (?:and )?/, (parts) => parts.join("，"), true, depth)
        ?? templated(text, depth, false)
        ?? named(text);
    }
    const ended = (text, end) => {
      const whole = text.replace(/(?<=[\u3400-\u9fff）”])\.$/, "。");
      return end && !/[。？！…]$/.test(whole) ? whole + end : whole;
    };
    function look(text, depth = 0) {
      if (depth > DEEP || !LATIN.test(text)) return null;
      const bare = text.trim().replace(/\s+/g, " ");
      if (names.has(bare)) return null;
      let found = known.get(bare);
      if (found === undefined) {
        found = sought(bare, depth);
        if (known.size > KEPT) known.clear();
        if (depth === 0 || found !== null) known.set(bare, found);
      }
      return found === null ? null : /^\s*/.exec(text)[0] + found + /\s*$/.exec(text)[0];
    }
    // A name of several words would be read as a part of the sentence, so a letter stands in for it; one that is a word is known by standing alone.
    function among(text, theirs) {
      const key = JSON.stringify(theirs);
      if (!readings.has(key)) readings.set(key, { known: new Map(), names: new Set(theirs), long: theirs.filter((name) => /[^\p{L}\p{N}_-]/u.test(name)).sort((a, b) => b.length - a.length) });
      if (readings.size > MOST) readings.delete(readings.keys().next().value);
      const before = { known, names }, reading = readings.get(key), { long } = reading;
      ({ known, names } = reading);
      const hidden = long.reduce((whole, name, at) => whole.replaceAll(name, String.fromCharCode(OPAQUE + at)), text);
      const found = look(hidden);
      ({ known, names } = before);
      return found === null ? null : found.replace(/[\ue000-\uf8ff]/g, (letter) => long[letter.charCodeAt(0) - OPAQUE] ?? letter);
    }
    // theirs: names that visitors gave, as they stand in this text; they are filled in as they are.
    return (text, theirs = []) => (theirs.length ? among(text, theirs) : look(text));
  }

  window.SB.translator = translator;
})();

// The whole map as one picture, twice as fine as on the screen, with the whole legend beside it: names are wrapped, never cut.
(() => {
  "use strict";
  const { el, token, grouped, mapping } = window.SB;
  const DOTS = 2, ABOVE = 44, LINE = 17, APART = 5, MARGIN = 14, WIDEST = 300, DEEPEST = 3;

  // Lines of at most so many pixels, broken between words; a longer word is broken anywhere.
  function wrap(pen, words, width) {
    const lines = [];
    let line = "";
    for (const piece of words.split(/(?<=\s)/).flatMap((word) => (pen.measureText(word).width > width ? [...word] : [word]))) {
      if (line && pen.measureText((line + piece).trimEnd()).width > width) { lines.push(line.trimEnd()); line = ""; }
      line += piece;
    }
    return line ? [...lines, line.trimEnd()] : lines;
  }

  // layers: canvases painted at two dots a pixel; paint, hidden: see scene.js; note: below the title.
  mapping.picture = (root, { size: [width, height], layers, paint, hidden, title, note = "" }) => {
    const family = getComputedStyle(root).fontFamily, plain = `12.5px ${family}`, bold = `600 13px ${family}`;
    const pen = el("canvas", {}).getContext("2d"), palette = paint.palette(), sizes = paint.sizes(hidden);
    const words = (one) => (window.SB.language && one.own ? window.SB.language.fill([one.label], []) : one.label);
    pen.font = plain;
    const entries = paint.entries.map((one, place) => ({ css: mapping.css(palette[one.at]), text: `${words(one)} · ${grouped(sizes[place])}`, size: sizes[place] })).filter((one) => one.size);
    const beside = Math.min(WIDEST, Math.max(150, ...entries.map((one) => pen.measureText(one.text).width + 1))), column = beside + MARGIN + 22;
    for (const one of entries) one.lines = wrap(pen, one.text, beside);
    // As many columns of the legend as there are, each as high as the map, or a little higher where there are very many.
    const head = paint.kind === "clusters" ? 0 : 26, axis = paint.axis ? 44 : 0, deep = (one) => one.lines.length * LINE + APART;
    const total = entries.reduce((sum, one) => sum + deep(one), 0), room = Math.max(height - head - axis - 2 * MARGIN, total / DEEPEST + 3 * LINE), columns = [[]];
    let used = 0;
    for (const one of entries) {
      if (used && used + deep(one) > room) { columns.push([]); used = 0; }
      columns[columns.length - 1].push(one);
      used += deep(one);
    }
    const high = Math.max(height, room + head + axis + 2 * MARGIN), above = ABOVE + (note ? 20 : 0);
    const made = el("canvas", { width: Math.ceil(width + columns.length * column + MARGIN) * DOTS, height: Math.ceil(high + above) * DOTS }), out = made.getContext("2d");
    out.fillStyle = token("--sb-ground");
    out.fillRect(0, 0, made.width, made.height);
    for (const one of layers) out.drawImage(one, 0, above * DOTS, width * DOTS, height * DOTS);
    out.setTransform(DOTS, 0, 0, DOTS, 0, 0);
    out.textBaseline = "middle";
    const write = (text, x, y, font, ink = "--sb-ink") => { out.font = font; out.fillStyle = token(ink); out.fillText(text, x, y); };
    write(title, 18, 24, `600 17px ${family}`);
    if (note) write(note, 18, 46, plain, "--sb-dim");
    let top = above + MARGIN;
    const left = width + MARGIN;
    if (head) { write(paint.by, left, top + 8, bold); top += head; }
    if (paint.axis) {
      const { low, high: most, under, over, text } = paint.axis, shade = out.createLinearGradient(left, 0, left + beside, 0);
      for (let i = 0; i <= 16; i += 1) shade.addColorStop(i / 16, mapping.css(mapping.shade(i / 16)));
      out.fillStyle = shade;
      out.fillRect(left, top, beside, 10);
      out.textAlign = "left";
      write(`${under ? "≤ " : ""}${text(low)}`, left, top + 24, plain, "--sb-dim");
      out.textAlign = "right";
      write(`${over ? "≥ " : ""}${text(most)}`, left + beside, top + 24, plain, "--sb-dim");
      out.textAlign = "left";
      top += axis;
    }
    columns.forEach((list, place) => {
      const x = left + place * column;
      let y = top + LINE / 2;
      for (const one of list) {
        out.fillStyle = one.css;
        out.beginPath(); out.arc(x + 5, y, 5, 0, 7); out.fill();
        one.lines.forEach((line, at) => write(line, x + 18, y + at * LINE, plain));
        y += deep(one);
      }
    });
    return made;
  };
  mapping.wrap = wrap;
})();

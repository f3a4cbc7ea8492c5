// Colours, sizes and the order of drawing of all points, by what is lit.
(() => {
  "use strict";
  const { token, mapping } = window.SB;

  // Steps of so many rows come by each row once, and by all parts of the file from the first few on.
  mapping.stride = (n) => {
    const apart = (a, b) => (b ? apart(b, a % b) : a);
    let step = Math.max(1, Math.round(n * 0.6180339887));
    while (apart(step, n) !== 1) step += 1;
    return step;
  };

  // shining: a set of rows that stand out, or null; tone(row): its colour as [r, g, b]; glowing: found, rather than only chosen.
  mapping.styled = ({ value, groups, hidden, opacity, shades, tone, shining, glowing }) => {
    const colours = new Uint8Array(value.n * 4), sizes = new Float32Array(value.n).fill(1), parts = [[], [], []], cached = new Map();
    const ground = mapping.bytes(token("--sb-ground")), ink = mapping.bytes(token("--sb-ink")), grow = glowing ? (shining && shining.size > 400 ? 1.2 : 1.7) : 1;
    const stride = mapping.stride(value.n);
    for (let i = 0, row = 0; i < value.n; i += 1, row = (row + stride) % value.n) {
      if (hidden[row]) continue;
      let rgb = shades ? tone(row) : cached.get(groups[row]);
      if (!rgb) { rgb = tone(row); cached.set(groups[row], rgb); }
      const bright = shining && shining.has(row), faint = shining && !bright;
      let alpha = bright ? 0.95 : (groups[row] < 0 && !shades ? 0.6 : 1) * (opacity ? opacity[row] : 0.95);
      if (faint) { alpha = 0.14; sizes[row] = 0.85; }
      if (bright) sizes[row] = grow;
      if (bright && groups[row] < 0 && glowing) rgb = ink;
      if (value.dims === 3) { const share = faint ? 0.16 : groups[row] < 0 ? 0.7 : 1; rgb = rgb.map((part, i) => part * share + ground[i] * (1 - share)); alpha = 1; }
      colours.set([rgb[0], rgb[1], rgb[2], alpha * 255], row * 4);
      parts[faint ? 0 : bright ? 2 : 1].push(row);
    }
    return { colours, sizes, order: Uint32Array.from(parts.flat()), faint: parts[0].length, bright: parts[2].length };
  };
})();

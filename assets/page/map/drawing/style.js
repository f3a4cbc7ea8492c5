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

  // paint, colours: see scene.js; shining: a set of rows that stand out, or null; glowing: found, rather than only chosen.
  mapping.styled = ({ n, dims, hidden, opacity, paint: { index, faint: receding }, colours: palette, shining, glowing }) => {
    const colours = new Uint8Array(n * 4), sizes = new Float32Array(n).fill(1), parts = [[], [], []];
    const ground = mapping.bytes(token("--sb-ground")), ink = mapping.bytes(token("--sb-ink")), grow = glowing ? (shining && shining.size > 400 ? 1.2 : 1.7) : 1;
    const stride = mapping.stride(n);
    for (let i = 0, row = 0; i < n; i += 1, row = (row + stride) % n) {
      if (hidden[row]) continue;
      const recedes = receding.has(index[row]), bright = shining && shining.has(row), faint = shining && !bright;
      let rgb = palette[index[row]], alpha = bright ? 0.95 : (recedes ? 0.6 : 1) * (opacity ? opacity[row] : 0.95);
      if (faint) { alpha = 0.14; sizes[row] = 0.85; }
      if (bright) sizes[row] = grow;
      if (bright && recedes && glowing) rgb = ink;
      if (dims === 3) { const share = faint ? 0.16 : recedes ? 0.7 : 1; rgb = rgb.map((part, at) => part * share + ground[at] * (1 - share)); alpha = 1; }
      colours.set([rgb[0], rgb[1], rgb[2], alpha * 255], row * 4);
      parts[faint ? 0 : bright ? 2 : 1].push(row);
    }
    return { colours, sizes, order: Uint32Array.from(parts.flat()), faint: parts[0].length, bright: parts[2].length };
  };
})();

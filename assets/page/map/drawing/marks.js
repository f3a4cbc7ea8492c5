// What is drawn for the points: close up each of them, far out one mark for all points of a small cell (level of detail).
// A mark has the colour that most of its visible points have, is the more opaque the more they are, and stands out if one of them does.
(() => {
  "use strict";
  const { token, mapping } = window.SB;
  const HIDDEN = 0, PLAIN = 1, FAINT = 2, LIT = 3, MOST_OPAQUE = 0.95, STRONG = 0.95;

  // index: of mapping.spatial.
  function marks(index) {
    const { n, dims, order, place } = index, EXACT = index.bits + 1, places = [], styled = [];
    let look = null, version = 0, kinds = new Uint8Array(n), codes = new Uint16Array(n), opacities = new Float32Array(n);

    // Colour, hide and light points, which leaves the geometry as it is. next: {hidden: Uint8Array (n), 1: neither drawn nor hit;
    // paint: {index: Uint16Array (n) of places in the palette, faint: Set of places that recede, scale?: so many first places are one scale};
    // colours: the palette, [[r, g, b], …]; opacity: Float32Array (n) | null; shining: rows that stand out | null; glowing: found, not only chosen}.
    function restyle(next) {
      look = next;
      version += 1;
      const { hidden, paint, opacity, shining } = look, rest = shining ? FAINT : PLAIN, at = shining && new Uint8Array(n);
      if (shining) for (const row of shining) at[row] = 1;
      for (let i = 0; i < n; i += 1) {
        const row = order[i];
        kinds[i] = hidden[row] ? HIDDEN : at && at[row] ? LIT : rest;
        codes[i] = paint.index[row];
        opacities[i] = opacity ? opacity[row] : 0.95;
      }
    }

    const starts = (level) => (level === EXACT ? null : index.runs(level));
    const count = (level) => (level === EXACT ? n : starts(level).length - 1);

    // The middle of the points of each mark, (count · dims).
    function middles(level) {
      if (level === EXACT) return place;
      if (places[level]) return places[level];
      const runs = starts(level), made = new Float32Array((runs.length - 1) * dims);
      for (let mark = 0; mark + 1 < runs.length; mark += 1) for (let axis = 0; axis < dims; axis += 1) {
        let sum = 0;
        for (let i = runs[mark]; i < runs[mark + 1]; i += 1) sum += place[i * dims + axis];
        made[mark * dims + axis] = sum / (runs[mark + 1] - runs[mark]);
      }
      return (places[level] = made);
    }

    // {colours: RGBA bytes, kinds, counts: visible points} of each mark.
    function styles(level) {
      if (styled[level]?.version === version) return styled[level];
      const all = count(level), made = { version, colours: new Uint8Array(all * 4), kinds: new Uint8Array(all), counts: new Uint32Array(all) };
      const ground = mapping.bytes(token("--sb-ground")), ink = mapping.bytes(token("--sb-ink")), { colours: palette, glowing, paint: { faint, scale = 0 } } = look;
      const recedes = palette.map((_, code) => faint.has(code)), tally = new Uint32Array(palette.length), runs = starts(level);
      for (let mark = 0; mark < all; mark += 1) {
        const [from, to] = runs ? [runs[mark], runs[mark + 1]] : [mark, mark + 1];
        let [kind, seen, alpha, code] = [HIDDEN, 0, 0, -1];
        for (let i = from; i < to; i += 1) if (kinds[i] !== HIDDEN) {
          seen += 1;
          if (kinds[i] > kind) [kind, alpha] = [kinds[i], 0];
        }
        made.counts[mark] = seen;
        made.kinds[mark] = kind;
        if (!seen) continue;
        let [voting, shades, shaded] = [0, 0, 0];
        for (let i = from; i < to; i += 1) if (kinds[i] === kind) {
          const own = codes[i];
          voting += 1;
          alpha += opacities[i];
          tally[own] += 1;
          if (own < scale) { shades += own; shaded += 1; }
          if (code < 0 || tally[own] > tally[code] || (tally[own] === tally[code] && own < code)) code = own;
        }
        for (let i = from; i < to; i += 1) tally[codes[i]] = 0;
        if (2 * shaded >= voting && shaded) code = Math.round(shades / shaded);  // of a scale the mean, not what is most frequent
        alpha = kind === LIT ? STRONG : kind === FAINT ? 0.14 : (recedes[code] ? 0.6 : 1) * (alpha / voting);
        if (voting > 1) alpha = Math.min(Math.max(alpha, MOST_OPAQUE), 1 - (1 - alpha) ** (kind === FAINT ? Math.min(voting, 4) : voting));
        let rgb = kind === LIT && recedes[code] && glowing ? ink : palette[code];
        if (dims === 3) { const share = kind === FAINT ? 0.16 : recedes[code] ? 0.7 : 1; rgb = rgb.map((part, at) => part * share + ground[at] * (1 - share)); alpha = 1; }
        made.colours[mark * 4] = rgb[0]; made.colours[mark * 4 + 1] = rgb[1]; made.colours[mark * 4 + 2] = rgb[2]; made.colours[mark * 4 + 3] = alpha * 255;
      }
      return (styled[level] = made);
    }

    // Runs of points as runs of marks.
    function onLevel(level, ranges) {
      if (level === EXACT) return ranges;
      const runs = starts(level), found = [];
      for (let i = 0; i < ranges.length; i += 2) {
        let from = mapping.firstAt(runs, ranges[i]), to = mapping.firstAt(runs, ranges[i + 1]);
        if (runs[from] > ranges[i]) from -= 1;
        if (found.length && from <= found[found.length - 1]) found[found.length - 1] = to; else found.push(from, to);
      }
      return found;
    }
    const total = (ranges) => { let sum = 0; for (let i = 0; i < ranges.length; i += 2) sum += ranges[i + 1] - ranges[i]; return sum; };

    // The finest level of which at most ``budget`` marks lie in view: {level, ranges: of its marks, cell: its width on the map}. ``box``: null for all.
    function choose(box, budget) {
      const ranges = box ? index.ranges(box) : [0, n];
      if (total(ranges) <= budget) return { level: EXACT, ranges, cell: 0 };
      let best = { level: 0, ranges: [0, 1], cell: index.cell(0) };
      for (let level = 1; level < EXACT; level += 1) {
        const found = onLevel(level, ranges);
        if (total(found) > budget) break;
        best = { level, ranges: found, cell: index.cell(level) };
      }
      return best;
    }

    return { EXACT, n, dims, restyle, styles, middles, choose };
  }

  mapping.marks = marks;
})();

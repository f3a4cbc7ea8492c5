// Where points lie: sorted along a Z-order curve (Morton 1966), so that the points of each cell of a grid, coarse or fine, are one run.
// A level halves the cells of the one before; level 0 is one cell around all points.
(() => {
  "use strict";
  const { mapping } = window.SB;
  const BITS = { 2: 16, 3: 10 }, PARTS = 16, FEW = 24, MERGED = 256;

  // Put zeros between the bits of a number: one in two dimensions, two in three.
  const spread = {
    2: (v) => { let x = v; x = (x | (x << 8)) & 0x00ff00ff; x = (x | (x << 4)) & 0x0f0f0f0f; x = (x | (x << 2)) & 0x33333333; return (x | (x << 1)) & 0x55555555; },
    3: (v) => { let x = v; x = (x | (x << 16)) & 0x030000ff; x = (x | (x << 8)) & 0x0300f00f; x = (x | (x << 4)) & 0x030c30c3; return (x | (x << 2)) & 0x09249249; },
  };

  // Sort rows by 32-bit keys, two digits of 16 bits; rows of equal keys stay in order.
  function sorted(keys) {
    const n = keys.length;
    let rows = Uint32Array.from({ length: n }, (_, row) => row), next = new Uint32Array(n);
    for (const shift of [0, 16]) {
      const starts = new Uint32Array(65537);
      for (let i = 0; i < n; i += 1) starts[((keys[i] >>> shift) & 65535) + 1] += 1;
      for (let digit = 0; digit < 65536; digit += 1) starts[digit + 1] += starts[digit];
      for (let i = 0; i < n; i += 1) { const row = rows[i]; next[starts[(keys[row] >>> shift) & 65535]++] = row; }
      [rows, next] = [next, rows];
    }
    return rows;
  }

  // The first place in an ascending array from which on no value is below ``wanted``.
  function first(values, wanted, from = 0, to = values.length) {
    let [low, high] = [from, to];
    while (low < high) { const middle = (low + high) >>> 1; if (values[middle] < wanted) low = middle + 1; else high = middle; }
    return low;
  }

  // Whether a line from a to b may meet a box [left, bottom, right, top]; false only where it does not.
  function meets(a, b, [left, bottom, right, top]) {
    if (Math.max(a[0], b[0]) < left || Math.min(a[0], b[0]) > right || Math.max(a[1], b[1]) < bottom || Math.min(a[1], b[1]) > top) return false;
    const side = (x, y) => (b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0]), corners = [side(left, bottom), side(right, bottom), side(left, top), side(right, top)];
    return !(corners.every((one) => one > 0) || corners.every((one) => one < 0));
  }

  function spatial(points, n, dims) {
    const bits = BITS[dims], cells = 2 ** bits, low = new Array(dims).fill(Infinity), high = new Array(dims).fill(-Infinity);
    for (let row = 0; row < n; row += 1) for (let axis = 0; axis < dims; axis += 1) {
      const x = points[row * dims + axis];
      if (x < low[axis]) low[axis] = x;
      if (x > high[axis]) high[axis] = x;
    }
    const side = Math.max(...low.map((from, axis) => high[axis] - from), 1e-9), plain = new Uint32Array(n), apart = spread[dims];
    for (let row = 0; row < n; row += 1) {
      let key = 0;
      for (let axis = 0; axis < dims; axis += 1) key |= apart(Math.min(cells - 1, Math.floor(((points[row * dims + axis] - low[axis]) / side) * cells))) << axis;
      plain[row] = key;
    }
    const order = sorted(plain), keys = new Uint32Array(n), place = new Float32Array(n * dims), levels = [];
    for (let i = 0; i < n; i += 1) {
      keys[i] = plain[order[i]];
      for (let axis = 0; axis < dims; axis += 1) place[i * dims + axis] = points[order[i] * dims + axis];
    }

    // Where the run of each cell with points begins in the order, and n.
    function runs(level) {
      if (levels[level]) return levels[level];
      const shift = (bits - level) * dims, starts = [];
      if (shift >= 32) return (levels[level] = Uint32Array.of(0, n));
      for (let i = 0, before = -1; i < n; i += 1) { const cell = keys[i] >>> shift; if (cell !== before) { starts.push(i); before = cell; } }
      starts.push(n);
      return (levels[level] = Uint32Array.from(starts));
    }

    // Descend into cells of a flat map from ``level`` 0: ``what(cell, from, to)`` is true to take all its points, false for none, null to look closer.
    function descend(what, take) {
      const visit = (level, code, from, to, x, y) => {
        if (from === to) return;
        const wide = side / 2 ** level, answer = what({ level, left: low[0] + x * wide, bottom: low[1] + y * wide, wide }, from, to);
        if (answer === false) return;
        if (answer) { take(from, to); return; }
        const shift = (bits - level - 1) * 2;
        let begin = from;
        for (let part = 0; part < 4; part += 1) {
          const end = part === 3 ? to : first(keys, (code * 4 + part + 1) * 2 ** shift, begin, to);
          visit(level + 1, code * 4 + part, begin, end, x * 2 + (part & 1), y * 2 + (part >> 1));
          begin = end;
        }
      };
      visit(0, 0, 0, n, 0, 0);
    }

    // Runs of the order, [from, to) one after the other, that contain all points of a box [left, bottom, right, top], and few others.
    function ranges([left, bottom, right, top]) {
      const found = [], fine = Math.max(right - left, top - bottom) / PARTS;
      descend((cell, from, to) => {
        const slack = side / cells, [r, t] = [cell.left + cell.wide + slack, cell.bottom + cell.wide + slack];
        if (r < left || t < bottom || cell.left - slack > right || cell.bottom - slack > top) return false;
        if (cell.left >= left && cell.bottom >= bottom && r <= right && t <= top) return true;
        return cell.wide <= fine || to - from <= FEW || cell.level === bits ? true : null;
      }, (from, to) => {
        if (found.length && from - found[found.length - 1] <= MERGED) found[found.length - 1] = to;
        else found.push(from, to);
      });
      return found;
    }

    // Call ``take(place)`` for each place in the order within an outline [[x, y], …] on the map: a cell that no edge crosses is in or out
    // as a whole, ``test(place)`` decides the rest.
    function within(outline, test, take) {
      const edges = outline.map((to, i) => [outline[(i || outline.length) - 1], to]), slack = side / cells;
      descend(({ left, bottom, wide, level }, from, to) => {
        const box = [left - slack, bottom - slack, left + wide + slack, bottom + wide + slack];
        if (!edges.some(([a, b]) => meets(a, b, box))) return mapping.inside(left + wide / 2, bottom + wide / 2, outline);
        if (to - from > FEW && level < bits) return null;
        for (let at = from; at < to; at += 1) if (test(at)) take(at);
        return false;
      }, (from, to) => { for (let at = from; at < to; at += 1) take(at); });
    }

    return { n, dims, bits, side, low, order, keys, place, runs, ranges, within, cell: (level) => side / 2 ** level };
  }

  mapping.spatial = spatial;
  mapping.firstAt = first;
})();

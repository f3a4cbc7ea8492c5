// Which points lie where, on the screen: exact at every level of detail. A flat map asks its index (spatial.js), a cloud looks at all points.
(() => {
  "use strict";
  const { mapping } = window.SB, ALL = 1e9;

  const onMap = (eye, [x, y]) => mapping.overlay.onMap(eye, [x, y]);
  // The part of a flat map that some pixels around a place on the screen show: [left, bottom, right, top].
  function around(eye, [x, y], pixels) {
    const [a, b] = [onMap(eye, [x - pixels, y + pixels]), onMap(eye, [x + pixels, y - pixels])];
    return [a[0], a[1], b[0], b[1]];
  }
  // Call ``act(row, at)`` for each visible row that may lie in the box, or for all of a cloud; ``at`` is its place on the screen.
  function each(eye, points, hidden, index, box, act) {
    const m = eye.matrix(), look = (row) => { const at = hidden[row] ? null : eye.project(points, row, m); if (at) act(row, at); };
    if (index.dims !== 2 || !box) { for (let row = 0; row < index.n; row += 1) look(row); return; }
    const ranges = index.ranges(box);
    for (let i = 0; i < ranges.length; i += 2) for (let at = ranges[i]; at < ranges[i + 1]; at += 1) look(index.order[at]);
  }

  // The row drawn nearest to [x, y], within so many pixels, those in front first and of equals the first; null: none.
  mapping.nearest = (eye, points, hidden, index, [x, y], within) => {
    let best = null, least = within ** 2;
    each(eye, points, hidden, index, around(eye, [x, y], within + 1), (row, at) => {
      const far = (at[0] - x) ** 2 + (at[1] - y) ** 2 + (at[2] - 1) * 4;
      if (far < least || (far === least && best !== null && row < best)) { least = far; best = row; }
    });
    return best;
  };

  // So many rows drawn nearest to one, itself first.
  mapping.beside = (eye, points, hidden, index, row, count) => {
    const middle = eye.project(points, row);
    for (let pixels = 16; ; pixels *= 2) {
      const whole = index.dims !== 2 || pixels > ALL, far = [];
      each(eye, points, hidden, index, whole ? null : around(eye, middle, pixels), (other, at) => {
        const square = (at[0] - middle[0]) ** 2 + (at[1] - middle[1]) ** 2;
        if (whole || square <= pixels ** 2) far.push([square, other]);
      });
      if (!whole && far.length < count) continue;
      const near = far.sort((a, b) => a[0] - b[0] || a[1] - b[1]).map((one) => one[1]).filter((other) => other !== row);
      return [row, ...near.slice(0, count - 1)];
    }
  };

  // The rows drawn within an outline, a list of [x, y], ascending.
  mapping.within = (eye, points, hidden, index, outline) => {
    const m = eye.matrix(), rows = [];
    const test = (row) => { const at = eye.project(points, row, m); return Boolean(at) && mapping.inside(at[0], at[1], outline); };
    if (index.dims === 2) index.within(outline.map((at) => onMap(eye, at)), (place) => test(index.order[place]), (place) => { const row = index.order[place]; if (!hidden[row]) rows.push(row); });
    else for (let row = 0; row < index.n; row += 1) if (!hidden[row] && test(row)) rows.push(row);
    return Array.from(Uint32Array.from(rows).sort());
  };
})();

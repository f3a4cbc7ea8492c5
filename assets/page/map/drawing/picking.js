// Which points lie where, on the screen.
(() => {
  "use strict";
  const { mapping } = window.SB;

  // The row drawn nearest to [x, y], within so many pixels, those in front first; null: none.
  mapping.nearest = (eye, points, hidden, [x, y], within) => {
    let best = null, least = within ** 2;
    const m = eye.matrix();
    for (let row = 0; row < hidden.length; row += 1) {
      const at = hidden[row] ? null : eye.project(points, row, m);
      if (!at) continue;
      const far = (at[0] - x) ** 2 + (at[1] - y) ** 2 + (at[2] - 1) * 4;
      if (far < least) { least = far; best = row; }
    }
    return best;
  };

  // So many rows drawn nearest to one, itself among them.
  mapping.beside = (eye, points, hidden, row, count) => {
    const m = eye.matrix(), middle = eye.project(points, row, m), far = [];
    for (let other = 0; other < hidden.length; other += 1) {
      const at = hidden[other] ? null : eye.project(points, other, m);
      if (at) far.push([(at[0] - middle[0]) ** 2 + (at[1] - middle[1]) ** 2, other]);
    }
    const limit = Float64Array.from(far, (one) => one[0]).sort()[Math.min(count, far.length) - 1];
    return [row, ...far.filter((one) => one[0] <= limit && one[1] !== row).slice(0, count - 1).map((one) => one[1])];
  };

  // The rows drawn within an outline, a list of [x, y].
  mapping.within = (eye, points, hidden, outline) => {
    const m = eye.matrix(), rows = [];
    for (let row = 0; row < hidden.length; row += 1) {
      const at = hidden[row] ? null : eye.project(points, row, m);
      if (at && mapping.inside(at[0], at[1], outline)) rows.push(row);
    }
    return rows;
  };
})();

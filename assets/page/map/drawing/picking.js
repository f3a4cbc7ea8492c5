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

// How densely the points of a flat map lie: thinner ink where they crowd, and the contours of large maps.
(() => {
  "use strict";
  const CELLS = 128, LEVELS = 7, SAMPLE = 50000;

  // Counts in a grid over all points, smoothed three times by (1, 2, 1) along both axes.
  function grid(points, n) {
    let [left, right, low, high] = [Infinity, -Infinity, Infinity, -Infinity];
    for (let row = 0; row < n; row += 1) {
      const x = points[row * 2], y = points[row * 2 + 1];
      if (x < left) left = x; if (x > right) right = x; if (y < low) low = y; if (y > high) high = y;
    }
    const step = (Math.max(right - left, high - low) || 1) / (CELLS - 8);
    const x0 = (left + right) / 2 - (CELLS / 2) * step, y0 = (low + high) / 2 - (CELLS / 2) * step;
    let counts = new Float32Array(CELLS * CELLS);
    const cell = (row) => Math.floor((points[row * 2 + 1] - y0) / step) * CELLS + Math.floor((points[row * 2] - x0) / step);
    for (let row = 0; row < n; row += 1) counts[cell(row)] += 1;
    for (let round = 0; round < 6; round += 1) {
      const along = round % 2 ? CELLS : 1, next = new Float32Array(counts.length);
      for (let at = CELLS + 1; at < counts.length - CELLS - 1; at += 1) next[at] = (counts[at - along] + 2 * counts[at] + counts[at + along]) / 4;
      counts = next;
    }
    return { counts, step, x0, y0, cell };
  }

  // The opacity of each point, in [0.4, 0.92]: ink per area grows as the root of the density.
  function opacities(points, n, found) {
    const opacity = new Float32Array(n), values = new Float32Array(n), step = Math.max(1, Math.floor(n / SAMPLE));
    for (let row = 0; row < n; row += 1) values[row] = found.counts[found.cell(row)];
    const middle = values.filter((_, row) => row % step === 0).sort(), half = middle[middle.length >> 1] || 1;
    const crowd = Math.max(0.62, 0.92 - 0.06 * Math.max(0, Math.log10(n / 1000)));
    for (let row = 0; row < n; row += 1) opacity[row] = Math.max(0.4, Math.min(0.92, crowd * Math.sqrt(half / Math.max(values[row], 1e-9)) ** 0.5));
    return opacity;
  }

  // Marching squares: for each level a flat list of segments x0, y0, x1, y1 in the map's own units.
  function contours(found) {
    const filled = Array.from(found.counts).filter((value) => value > 0.02).sort((a, b) => a - b);
    const levels = Array.from({ length: LEVELS }, (_, i) => filled[Math.floor(filled.length * (0.3 + (0.66 * i) / (LEVELS - 1)))]).filter((level, i, all) => level > 0 && level !== all[i - 1]);
    return levels.map((level) => {
      const segments = [];
      for (let j = 0; j < CELLS - 1; j += 1) for (let i = 0; i < CELLS - 1; i += 1) {
        const at = j * CELLS + i, corners = [found.counts[at], found.counts[at + 1], found.counts[at + CELLS + 1], found.counts[at + CELLS]];
        const crossed = [];
        for (let side = 0; side < 4; side += 1) {
          const [a, b] = [corners[side], corners[(side + 1) % 4]];
          if (a > level === b > level) continue;
          const share = (level - a) / (b - a), [u, v] = [[share, 0], [1, share], [1 - share, 1], [0, 1 - share]][side];
          crossed.push(found.x0 + (i + 0.5 + u) * found.step, found.y0 + (j + 0.5 + v) * found.step);
        }
        for (let k = 0; k + 3 < crossed.length; k += 4) segments.push(...crossed.slice(k, k + 4));
      }
      return segments;
    });
  }

  Object.assign(window.SB.mapping, { grid, opacities, contours });
})();

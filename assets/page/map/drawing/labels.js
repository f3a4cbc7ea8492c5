// Names of clusters beside them: where the fewest points lie under the words; the more room there is, the more of them. From far away, broad topics
// are named, whose ids are "broad-0", …
(() => {
  "use strict";
  const { token } = window.SB;
  const CELL = 10, HEIGHT = 19, MOST = 48, SAMPLE = 260, LOOKED = 15000, LONGEST = 34, CROWDED = 10, APART = 16, CROSSING = 12, STEP = 4, NEAR = 1.5;

  // From the edge of a name to what it names: [x, y, x, y], or null where they are so near that no line is drawn.
  function leader(x, y, wide, at) {
    const ex = Math.max(x, Math.min(x + wide, at[0])), ey = Math.max(y, Math.min(y + HEIGHT, at[1]));
    return Math.hypot(ex - at[0], ey - at[1]) > APART ? [ex, ey, at[0], at[1]] : null;
  }
  function crosses(line, [x, y, wide]) {
    const [ax, ay, bx, by] = line, steps = Math.ceil(Math.hypot(bx - ax, by - ay) / STEP);
    for (let i = 0; i <= steps; i += 1) {
      const px = ax + ((bx - ax) * i) / steps, py = ay + ((by - ay) * i) / steps;
      if (px >= x && px <= x + wide && py >= y && py <= y + HEIGHT) return true;
    }
    return false;
  }
  function intersect([ax, ay, bx, by], [cx, cy, dx, dy]) {
    const side = (px, py, qx, qy, x, y) => Math.sign((qx - px) * (y - py) - (qy - py) * (x - px));
    return side(ax, ay, bx, by, cx, cy) !== side(ax, ay, bx, by, dx, dy) && side(cx, cy, dx, dy, ax, ay) !== side(cx, cy, dx, dy, bx, by);
  }

  function labels() {
    let fine = [], broad = [], placed = [], rects = [];

    // The rows of each cluster, of large ones an even part; points that were removed have none.
    function prepare(n, ids, names, hidden, groups = []) {
      const real = names.filter((name) => name.id >= 0), sizes = new Uint32Array(real.reduce((most, name) => Math.max(most, name.id), -1) + 1);
      for (let row = 0; row < n; row += 1) if (!hidden[row] && ids[row] >= 0) sizes[ids[row]] += 1;
      // list: [{id, label, topics}], no topic in two of them.
      function made(list) {
        const found = list.map(({ id, label, topics }) => {
          const size = topics.reduce((sum, topic) => sum + (sizes[topic] || 0), 0);
          return { id, text: label.length > LONGEST ? `${label.slice(0, LONGEST - 1)}…` : label, rows: [], size, step: Math.max(1, Math.floor(size / SAMPLE)), seen: 0 };
        });
        const of = new Array(sizes.length).fill(null);
        list.forEach(({ topics }, at) => { for (const topic of topics) of[topic] = found[at]; });
        for (let row = 0; row < n; row += 1) {
          const one = hidden[row] || ids[row] < 0 ? null : of[ids[row]];
          if (one && one.seen++ % one.step === 0) one.rows.push(row);
        }
        return found.filter((one) => one.size).sort((a, b) => b.size - a.size);
      }
      fine = made(real.map((name) => ({ id: name.id, label: name.label, topics: [name.id] })));
      broad = made(groups.map((group, at) => ({ id: `broad-${at}`, label: group.label, topics: group.topics })));
      placed = [];
    }

    function occupied(eye, points, n, hidden, width, height) {
      const across = Math.ceil(width / CELL), cells = new Uint16Array(across * Math.ceil(height / CELL)), m = eye.matrix();
      for (let row = 0, step = Math.max(1, Math.floor(n / LOOKED)); row < n; row += step) {
        const at = hidden[row] ? null : eye.project(points, row, m);
        if (at && at[0] >= 0 && at[1] >= 0 && at[0] < width && at[1] < height) cells[Math.floor(at[1] / CELL) * across + Math.floor(at[0] / CELL)] += 1;
      }
      return (x, y, w, h) => {
        let sum = 0;
        for (let j = Math.max(0, Math.floor(y / CELL)); j <= (y + h) / CELL && j * CELL < height; j += 1)
          for (let i = Math.max(0, Math.floor(x / CELL)); i <= (x + w) / CELL && i < across; i += 1) sum += cells[j * across + i];
        return sum;
      };
    }

    // Done when the eye rests; while it moves, names go along with their clusters.
    function place(eye, points, n, hidden, measure) {
      const [width, height] = eye.size(), m = eye.matrix(), under = occupied(eye, points, n, hidden, width, height), taken = [], lines = [];
      placed = [];
      for (const cluster of broad.length && eye.magnified() < NEAR ? broad : fine) {
        if (placed.length >= MOST) break;
        const seen = cluster.rows.map((row) => eye.project(points, row, m)).filter((at) => at && at[0] > 0 && at[1] > 0 && at[0] < width && at[1] < height);
        if (seen.length < Math.max(2, cluster.rows.length * 0.08) && seen.length < cluster.rows.length) continue;
        if (!seen.length) continue;
        const span = (axis) => { const values = seen.map((at) => at[axis]).sort((a, b) => a - b), pick = (share) => values[Math.round(share * (values.length - 1))]; return [pick(0.1), pick(0.5), pick(0.9)]; };
        const [[left, cx, right], [top, cy, bottom]] = [span(0), span(1)];
        const wide = measure(cluster.text) + 18;
        // Where it hangs: the visible point that is nearest to the middle, so that it moves with the map.
        const middle = cluster.rows.reduce((near, row) => { const at = eye.project(points, row, m); if (!at) return near; const far = Math.hypot(at[0] - cx, at[1] - cy); return !near || far < near.far ? { row, far, at } : near; }, null);
        let best = null;
        for (const gap of [4, 18, 38, 62]) {
          const spots = [[cx - wide / 2, top - HEIGHT - gap], [cx - wide / 2, bottom + gap], [right + gap, cy - HEIGHT / 2], [left - wide - gap, cy - HEIGHT / 2],
            [right - 8, top - HEIGHT - gap], [left - wide + 8, top - HEIGHT - gap], [right - 8, bottom + gap], [left - wide + 8, bottom + gap]];
          for (const [x, y] of spots) {
            if (x < 4 || y < 4 || x + wide > width - 4 || y + HEIGHT > height - 4) continue;
            if (taken.some((box) => x < box[0] + box[2] + 6 && box[0] < x + wide + 6 && y < box[1] + HEIGHT + 2 && box[1] < y + HEIGHT + 2)) continue;
            const line = leader(x, y, wide, middle.at);
            if (lines.some((other) => crosses(other, [x, y, wide])) || (line && taken.some((box) => crosses(line, box)))) continue;
            const crowd = under(x, y, wide, HEIGHT) + gap * 0.12, cost = crowd + (line ? CROSSING * lines.filter((other) => intersect(line, other)).length : 0);
            if (!best || cost < best.cost) best = { cost, crowd, line, x, y };
          }
        }
        // Where there is no room, the legend alone names it, until somebody zooms in.
        if (!best || (best.crowd > CROWDED && placed.length >= 3)) continue;
        taken.push([best.x, best.y, wide]);
        if (best.line) lines.push(best.line);
        placed.push({ id: cluster.id, text: cluster.text, row: middle.row, dx: best.x - middle.at[0], dy: best.y - middle.at[1], wide });
      }
    }

    function draw(pen, eye, points, { colourOf, focus, font }) {
      const m = eye.matrix(), ground = token("--sb-ground"), ink = token("--sb-ink"), dim = token("--sb-dim");
      rects = [];
      pen.font = font;
      pen.textBaseline = "middle";
      pen.lineJoin = "round";
      const shown = placed.map((label) => ({ label, at: eye.project(points, label.row, m) })).filter((one) => one.at);
      // While the map moves, names keep their places beside their clusters, so that a line may come to cross a name: it is left out until they rest.
      const boxes = shown.map(({ label, at }) => [at[0] + label.dx, at[1] + label.dy, label.wide]);
      for (const [place, { label, at }] of shown.entries()) {
        const [x, y] = boxes[place];
        pen.globalAlpha = focus && !focus.has(label.id) ? 0.3 : 1;
        const line = leader(x, y, label.wide, at);
        if (line && !boxes.some((box, other) => other !== place && crosses(line, box))) {
          const [ex, ey] = line, far = Math.hypot(ex - at[0], ey - at[1]);
          pen.strokeStyle = dim;
          pen.lineWidth = 0.8;
          pen.beginPath();
          pen.moveTo(ex, ey);
          pen.lineTo(at[0] + ((ex - at[0]) * 5) / far, at[1] + ((ey - at[1]) * 5) / far);
          pen.stroke();
        }
      }
      for (const { label, at } of shown) {
        const x = at[0] + label.dx, y = at[1] + label.dy, middle = y + HEIGHT / 2;
        pen.globalAlpha = focus && !focus.has(label.id) ? 0.3 : 1;
        pen.strokeStyle = ground;
        pen.lineWidth = 4;
        pen.strokeText(label.text, x + 14, middle);
        pen.fillStyle = ink;
        pen.fillText(label.text, x + 14, middle);
        const colour = colourOf(label.id);
        if (colour) { pen.fillStyle = colour; pen.beginPath(); pen.arc(x + 6, middle, 4, 0, 7); pen.fill(); }
        rects.push([x, y, label.wide, label.id]);
      }
      pen.globalAlpha = 1;
    }

    const hit = (x, y) => { const found = rects.find((box) => x >= box[0] && x <= box[0] + box[2] && y >= box[1] && y <= box[1] + HEIGHT); return found ? found[3] : null; };
    return { prepare, place, draw, hit, shown: () => placed.map((label) => label.text), rects: () => rects };
  }

  window.SB.mapping.labels = labels;
})();

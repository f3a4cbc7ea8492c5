// Where the eye is: a flat map that is moved and magnified, or a cloud that is turned. One matrix serves the drawing and the pointer.
(() => {
  "use strict";
  const LENS = 1 / (2 * Math.tan(0.35));  // focal length over the frame's height
  const MARGIN = 0.88, LOOKED = 50000;
  const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

  function camera(dims) {
    const flat = dims === 2;
    const at = { x: 0, y: 0, z: 0, scale: 1, yaw: 0.6, pitch: 0.35 };
    let width = 1, height = 1, home = null, radius = 1, flight = 0;
    const axes = () => {
      const [cy, sy, cp, sp] = [Math.cos(at.yaw), Math.sin(at.yaw), Math.cos(at.pitch), Math.sin(at.pitch)];
      return { right: [cy, 0, -sy], up: [-sy * sp, cp, -cy * sp], near: [sy * cp, sp, cy * cp] };
    };
    const distance = () => (LENS * height) / at.scale;

    // Column by column, as WebGL wants it; ``at.scale`` is pixels per unit, in a cloud at the depth that is looked at.
    function matrix() {
      const sx = (2 * at.scale) / width, sy = (2 * at.scale) / height;
      if (flat) return [sx, 0, 0, 0, 0, sy, 0, 0, 0, 0, 0, 0, -at.x * sx, -at.y * sy, 0, 1];
      const { right, up, near } = axes(), far = distance(), eye = [at.x, at.y, at.z];
      const dot = (a) => a[0] * eye[0] + a[1] * eye[1] + a[2] * eye[2];
      const fx = sx * far, fy = sy * far, low = Math.max(far * 0.01, far - 3 * radius), high = far + 3 * radius;
      const a = (high + low) / (high - low), b = (-2 * high * low) / (high - low);
      const column = (i) => [right[i] * fx, up[i] * fy, -near[i] * a, -near[i]];
      return [...column(0), ...column(1), ...column(2), -dot(right) * fx, -dot(up) * fy, (far + dot(near)) * a + b, far + dot(near)];
    }

    // The place of a point on the frame, [x, y, depth over the depth that is looked at]; null behind the eye.
    function project(points, row, m = matrix()) {
      const x = points[row * dims], y = points[row * dims + 1], z = flat ? 0 : points[row * dims + 2];
      const w = m[3] * x + m[7] * y + m[11] * z + m[15];
      if (w <= 0) return null;
      return [((m[0] * x + m[4] * y + m[8] * z + m[12]) / w + 1) * width / 2, (1 - (m[1] * x + m[5] * y + m[9] * z + m[13]) / w) * height / 2, flat ? 1 : w / distance()];
    }

    function move(dx, dy) {
      land();
      if (flat) { at.x -= dx / at.scale; at.y += dy / at.scale; return; }
      const { right, up } = axes();
      ["x", "y", "z"].forEach((name, i) => { at[name] += (-dx * right[i] + dy * up[i]) / at.scale; });
    }
    function turn(dx, dy) { land(); at.yaw -= dx * 0.008; at.pitch = Math.max(-1.5, Math.min(1.5, at.pitch + dy * 0.008)); }
    function zoom(factor, px = width / 2, py = height / 2) {
      land();
      const next = Math.max(home.scale * 0.3, Math.min(home.scale * 400, at.scale * factor));
      if (flat) {
        const [dx, dy] = [px - width / 2, height / 2 - py];
        at.x += dx / at.scale - dx / next;
        at.y += dy / at.scale - dy / next;
      }
      at.scale = next;
    }

    // The place from which some rows fill the frame; outliers, the outermost two of a hundred on each side, may lie outside.
    function around(points, rows, spare = 0.02) {
      const found = { ...at }, step = Math.max(1, Math.floor(rows.length / LOOKED));
      if (step > 1) return around(points, Array.from({ length: Math.ceil(rows.length / step) }, (_, i) => rows[i * step]), spare);
      const spans = Array.from({ length: dims }, (_, axis) => {
        const values = Float32Array.from(rows, (row) => points[row * dims + axis]).sort();
        const low = values[Math.floor(spare * (values.length - 1))], high = values[Math.ceil((1 - spare) * (values.length - 1))];
        found["xyz"[axis]] = (low + high) / 2;
        return high - low;
      });
      const wide = flat ? MARGIN * Math.min(width / (spans[0] || 1e-6), height / (spans[1] || 1e-6)) : whole(points, rows, found, spare);
      found.scale = home ? Math.max(home.scale * 0.5, Math.min(wide, home.scale * 12)) : Math.min(wide, 1e5);
      return found;
    }
    // The scale at which the ball around some rows of a cloud fills the frame, however the cloud is turned.
    function whole(points, rows, middle, spare) {
      const far = Float32Array.from(rows, (row) => Math.hypot(points[row * 3] - middle.x, points[row * 3 + 1] - middle.y, points[row * 3 + 2] - middle.z)).sort();
      const ball = far[Math.ceil((1 - spare) * (far.length - 1))] || 1e-6, lens = LENS * height;
      return lens / (ball * Math.hypot(1, lens / (MARGIN * Math.min(width, height) / 2)));
    }

    function land() { cancelAnimationFrame(flight); flight = 0; }
    // Fly there in half a second, ``step`` called for each frame.
    function fly(to, step) {
      land();
      const from = { ...at }, begun = performance.now(), lasts = still() ? 0 : 520;
      const go = (now) => {
        const share = lasts ? Math.min(1, (now - begun) / lasts) : 1, eased = share < 0.5 ? 4 * share ** 3 : 1 - (2 - 2 * share) ** 3 / 2;
        for (const name of ["x", "y", "z", "yaw", "pitch"]) at[name] = from[name] + (to[name] - from[name]) * eased;
        at.scale = from.scale * (to.scale / from.scale) ** eased;
        flight = share < 1 ? requestAnimationFrame(go) : 0;
        step(share >= 1);
      };
      go(lasts ? begun : begun + 1);
    }

    return {
      dims, at, matrix, project, move, turn, zoom, fly, around,
      resize(w, h, points, n) {
        const first = !home || width < 2;
        const before = height;
        [width, height] = [Math.max(1, w), Math.max(1, h)];
        if (!n) return;
        // Of many points, an even part tells how far they reach.
        const step = Math.max(1, Math.floor(n / LOOKED)), rows = Array.from({ length: Math.ceil(n / step) }, (_, i) => i * step), zoomed = home ? at.scale / home.scale : 1;
        const moved = home && (at.x !== home.x || at.y !== home.y || zoomed !== 1);
        home = null;
        home = around(points, rows, n > 50 ? 0.004 : 0);
        if (!flat) radius = rows.reduce((far, row) => Math.max(far, Math.hypot(points[row * 3] - home.x, points[row * 3 + 1] - home.y, points[row * 3 + 2] - home.z)), 1e-6);
        if (first || !moved) Object.assign(at, home, { yaw: at.yaw, pitch: at.pitch });
        else at.scale = flat || !before ? home.scale * zoomed : at.scale;
      },
      home: () => ({ ...home, yaw: at.yaw, pitch: at.pitch }),
      magnified: () => (home ? at.scale / home.scale : 1),
      size: () => [width, height],
    };
  }

  window.SB.mapping.camera = camera;
})();

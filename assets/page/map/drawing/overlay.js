// What is drawn over and under the points, with a canvas's pen.
(() => {
  "use strict";
  const { token, mapping } = window.SB;

  // Its pen, the canvas cleared and as large as asked for.
  function canvas(node, width, height, dots) {
    if (node.width !== Math.round(width * dots) || node.height !== Math.round(height * dots)) Object.assign(node, { width: Math.round(width * dots), height: Math.round(height * dots) });
    const pen = node.getContext("2d");
    pen.setTransform(dots, 0, 0, dots, 0, 0);
    pen.clearRect(0, 0, width, height);
    return pen;
  }

  // A point of a flat map on the screen, and back.
  function onScreen(eye, [x, y]) {
    const [width, height] = eye.size();
    return [(x - eye.at.x) * eye.at.scale + width / 2, height / 2 - (y - eye.at.y) * eye.at.scale];
  }
  function onMap(eye, [x, y]) {
    const [width, height] = eye.size();
    return [(x - width / 2) / eye.at.scale + eye.at.x, (height / 2 - y) / eye.at.scale + eye.at.y];
  }

  // lines: a flat list of segments (x0, y0, x1, y1, …) each level of density.
  function contours(pen, eye, lines) {
    const [width, height] = eye.size(), { x, y, scale } = eye.at;
    pen.strokeStyle = token("--sb-ink");
    lines.forEach((segments, level) => {
      pen.globalAlpha = 0.1 + 0.045 * level;
      pen.lineWidth = 1;
      pen.beginPath();
      for (let i = 0; i < segments.length; i += 4) {
        pen.moveTo((segments[i] - x) * scale + width / 2, height / 2 - (segments[i + 1] - y) * scale);
        pen.lineTo((segments[i + 2] - x) * scale + width / 2, height / 2 - (segments[i + 3] - y) * scale);
      }
      pen.stroke();
    });
  }

  function ring(pen, at, radius, colour, wide) {
    if (!at) return;
    pen.lineWidth = wide + 2; pen.strokeStyle = token("--sb-ground");
    pen.beginPath(); pen.arc(at[0], at[1], radius, 0, 7); pen.stroke();
    pen.lineWidth = wide; pen.strokeStyle = colour;
    pen.beginPath(); pen.arc(at[0], at[1], radius, 0, 7); pen.stroke();
  }

  // Many rings of one colour, at [x, y] or null.
  function rings(pen, places, radius, colour) {
    pen.beginPath();
    for (const at of places) if (at) { pen.moveTo(at[0] + radius, at[1]); pen.arc(at[0], at[1], radius, 0, 7); }
    for (const [wide, ink] of [[3.6, token("--sb-ground")], [1.8, colour]]) { pen.lineWidth = wide; pen.strokeStyle = ink; pen.stroke(); }
  }

  function links(pen, from, targets, colour) {
    pen.strokeStyle = colour;
    pen.lineWidth = 1.4;
    pen.globalAlpha = 0.65;
    for (const to of from ? targets.filter(Boolean) : []) { pen.beginPath(); pen.moveTo(from[0], from[1]); pen.lineTo(to[0], to[1]); pen.stroke(); }
    pen.globalAlpha = 1;
  }

  function outline(pen, corners, colour) {
    if (!corners || corners.length < 3) return;
    pen.strokeStyle = colour; pen.fillStyle = colour; pen.lineWidth = 1.5;
    pen.beginPath(); corners.forEach(([x, y], i) => (i ? pen.lineTo(x, y) : pen.moveTo(x, y))); pen.closePath();
    pen.globalAlpha = 0.07; pen.fill(); pen.globalAlpha = 0.9; pen.stroke(); pen.globalAlpha = 1;
  }

  mapping.overlay = { canvas, onScreen, onMap, contours, ring, rings, links, outline };
})();

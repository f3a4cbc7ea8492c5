// What hands do on a map: drag, pinch, wheel, click, a lasso or a box, and the keys.
(() => {
  "use strict";
  const CLICK = 5;

  function inside(x, y, shape) {
    let odd = false;
    for (let i = 0, j = shape.length - 1; i < shape.length; j = i, i += 1) {
      const [xi, yi] = shape[i], [xj, yj] = shape[j];
      if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) odd = !odd;
    }
    return odd;
  }

  // told: {eye(), mode(), moved(), hover(x, y), leave(), click(x, y), shape(points, done)}
  function gestures(frame, told) {
    const down = new Map();
    let begun = null, shape = null, apart = 0;
    const at = (event) => { const box = frame.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
    const spread = () => { const [a, b] = [...down.values()]; return Math.hypot(a[0] - b[0], a[1] - b[1]); };

    frame.addEventListener("pointerdown", (event) => {
      if (!told.eye() || (event.button !== 0 && event.button !== 2)) return;
      frame.setPointerCapture?.(event.pointerId);
      const here = at(event);
      down.set(event.pointerId, here);
      told.leave();
      if (down.size === 2) { apart = spread(); shape = null; told.shape(null, false); begun = null; return; }
      const drawing = told.mode() !== "pan" || event.shiftKey;
      begun = { here, moved: false, drawing: drawing && event.button === 0, box: told.mode() === "select", aside: event.button === 2 };
      shape = begun.drawing ? [here] : null;
    });
    frame.addEventListener("pointermove", (event) => {
      const here = at(event), last = down.get(event.pointerId);
      if (!last) { if (event.pointerType !== "touch") told.hover(...here); return; }
      down.set(event.pointerId, here);
      const eye = told.eye(), [dx, dy] = [here[0] - last[0], here[1] - last[1]];
      if (down.size === 2) {
        const now = spread(), [a, b] = [...down.values()];
        eye.move(dx / 2, dy / 2);
        eye.zoom(now / (apart || now), (a[0] + b[0]) / 2, (a[1] + b[1]) / 2);
        apart = now;
        told.moved();
        return;
      }
      if (!begun) return;
      if (!begun.moved && Math.hypot(here[0] - begun.here[0], here[1] - begun.here[1]) < CLICK) { down.set(event.pointerId, last); return; }
      begun.moved = true;
      if (shape) {
        if (begun.box) { const [x, y] = begun.here; shape = [[x, y], [here[0], y], here, [x, here[1]]]; } else shape.push(here);
        told.shape(shape, false);
      } else {
        if (eye.dims === 3 && !begun.aside) eye.turn(dx, dy); else eye.move(dx, dy);
        told.moved();
      }
    });
    const up = (event) => {
      if (!down.delete(event.pointerId)) return;
      const was = begun;
      if (down.size === 0) begun = null;
      if (!was || event.type === "pointercancel") { if (shape) told.shape(null, false); shape = null; return; }
      if (shape && was.moved) told.shape(shape, true);
      else if (!was.moved && event.button === 0) told.click(...at(event));
      shape = null;
    };
    frame.addEventListener("pointerup", up);
    frame.addEventListener("pointercancel", up);
    frame.addEventListener("pointerleave", () => told.leave());
    frame.addEventListener("contextmenu", (event) => event.preventDefault());
    frame.addEventListener("wheel", (event) => {
      if (!told.eye()) return;
      event.preventDefault();
      told.eye().zoom(Math.exp(-event.deltaY * (event.deltaMode === 1 ? 0.05 : 0.0016)), ...at(event));
      told.leave();
      told.moved();
    }, { passive: false });
    frame.addEventListener("keydown", (event) => {
      const eye = told.eye(), step = 50, turns = { ArrowLeft: [step, 0], ArrowRight: [-step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] }[event.key];
      if (!eye || event.target !== frame || event.ctrlKey || event.metaKey || event.altKey) return;
      if (turns) { if (eye.dims === 3) eye.turn(...turns); else eye.move(...turns); }
      else if (event.key === "+" || event.key === "=") eye.zoom(1.3);
      else if (event.key === "-") eye.zoom(1 / 1.3);
      else return;
      event.preventDefault();
      told.moved();
    });
  }

  Object.assign(window.SB.mapping, { gestures, inside });
})();

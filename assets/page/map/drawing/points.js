// The points, by WebGL: round, with a fine rim, lit ones above the others; size and opacity by how many there are and how near the eye is.
(() => {
  "use strict";
  const VERTEX = `#version 300 es
    in vec3 place; in vec4 colour; in float size;
    uniform mat4 view; uniform float base, most, far, thin; uniform bool deep, glow;
    out vec4 ink; out float wide; out float away;
    void main() {
      gl_Position = view * vec4(place, 1.0);
      float near = deep ? clamp(far / max(gl_Position.w, 1e-6), 0.25, 3.0) : 1.0;
      wide = min(base * near * size, most * size) * (glow ? 3.4 : 1.0);
      away = deep ? clamp((gl_Position.w / far - 0.75) * 0.9, 0.0, 0.72) : 0.0;
      gl_PointSize = wide;
      ink = vec4(colour.rgb, glow ? 0.2 : mix(colour.a, 1.0, thin));
    }`;
  const FRAGMENT = `#version 300 es
    precision mediump float;
    in vec4 ink; in float wide; in float away;
    uniform vec3 ground; uniform bool deep, glow; uniform float dots;
    out vec4 shown;
    void main() {
      float r = length(gl_PointCoord - 0.5) * wide, edge = wide * 0.5;
      float cover = glow ? pow(clamp(1.0 - r / edge, 0.0, 1.0), 1.6) * 2.4 : clamp(edge - r, 0.0, 1.0);
      if (cover <= 0.02 || (deep && !glow && cover < 0.5)) discard;
      vec3 tone = mix(ink.rgb, ground, away);
      if (!glow && wide > 6.0 * dots) tone = mix(tone, ground, clamp(r - edge + 1.6 * dots, 0.0, 1.0) * 0.75);
      float alpha = ink.a * cover;
      shown = vec4(tone * alpha, alpha);
    }`;

  function program(gl) {
    const made = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(made, shader);
    }
    gl.linkProgram(made);
    if (!gl.getProgramParameter(made, gl.LINK_STATUS) && !gl.isContextLost()) throw new Error(gl.getProgramInfoLog(made));
    return made;
  }

  // null where the browser has no WebGL 2.
  function points(canvas) {
    const gl = canvas.getContext("webgl2", { antialias: false, alpha: true, premultipliedAlpha: true, depth: true });
    if (!gl) return null;
    let made, buffers, dims = 2, n = 0, counts = [0, 0, 0], kept = {};
    const where = (name) => gl.getUniformLocation(made, name);
    function ready() {
      made = program(gl);
      buffers = { place: gl.createBuffer(), colour: gl.createBuffer(), size: gl.createBuffer(), order: gl.createBuffer() };
      for (const [name, [kind, parts]] of Object.entries({ place: [gl.FLOAT, 3], colour: [gl.UNSIGNED_BYTE, 4], size: [gl.FLOAT, 1] })) {
        const slot = gl.getAttribLocation(made, name);
        gl.bindBuffer(gl.ARRAY_BUFFER, buffers[name]);
        gl.enableVertexAttribArray(slot);
        gl.vertexAttribPointer(slot, parts, kind, kind === gl.UNSIGNED_BYTE, 0, 0);
      }
      gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, buffers.order);
    }
    const fill = (name, data) => {
      kept[name] = data;
      const target = name === "order" ? gl.ELEMENT_ARRAY_BUFFER : gl.ARRAY_BUFFER;
      gl.bindBuffer(target, buffers[name]);
      gl.bufferData(target, data, gl.DYNAMIC_DRAW);
    };
    ready();
    // A browser may take the graphics memory away; what was drawn is put back as soon as it gives some.
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => { ready(); for (const [name, data] of Object.entries(kept)) fill(name, data); });

    return {
      place(coordinates, count, dimensions) {
        [dims, n] = [dimensions, count];
        const all = new Float32Array(n * 3);
        for (let row = 0; row < n; row += 1) for (let axis = 0; axis < dims; axis += 1) all[row * 3 + axis] = coordinates[row * dims + axis];
        fill("place", all);
      },
      // colours: RGBA bytes; sizes: times the base; order: rows as they are drawn, first those that fade, then plain, then lit ones, each of them in no order, so that the first are a fair part.
      style(colours, sizes, order, faded, lit) {
        fill("colour", colours);
        fill("size", sizes);
        fill("order", order);
        counts = [faded, order.length - faded - lit, lit];
      },
      draw(eye, { width, height, dots, ground, base, most, thin, glowing, share = 1 }) {
        if (canvas.width !== Math.round(width * dots) || canvas.height !== Math.round(height * dots)) Object.assign(canvas, { width: Math.round(width * dots), height: Math.round(height * dots) });
        gl.viewport(0, 0, canvas.width, canvas.height);
        gl.clearColor(0, 0, 0, 0);
        gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
        if (!n) return;
        const deep = dims === 3, view = eye.matrix();
        gl.useProgram(made);
        gl.uniformMatrix4fv(where("view"), false, view);
        gl.uniform1f(where("base"), base * dots);
        gl.uniform1f(where("most"), most * dots);
        gl.uniform1f(where("dots"), dots);
        gl.uniform1f(where("thin"), thin);
        gl.uniform1f(where("far"), deep ? (height / (2 * Math.tan(0.35))) / eye.at.scale : 1);
        gl.uniform3fv(where("ground"), ground.map((part) => part / 255));
        gl.uniform1i(where("deep"), deep ? 1 : 0);
        gl.enable(gl.BLEND);
        gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
        const [faded, plain, lit] = counts;
        const part = (from, count, glow) => { gl.uniform1i(where("glow"), glow ? 1 : 0); if (count) gl.drawElements(gl.POINTS, count, gl.UNSIGNED_INT, from * 4); };
        gl.disable(gl.DEPTH_TEST);
        if (deep) { gl.enable(gl.DEPTH_TEST); gl.depthFunc(gl.LEQUAL); }
        part(0, Math.ceil(faded * share), false);
        part(faded, Math.ceil(plain * share), false);
        if (lit && deep) gl.clear(gl.DEPTH_BUFFER_BIT);  // what is lit is seen through what is not
        if (lit && glowing) { gl.depthMask(false); part(faded + plain, lit, true); gl.depthMask(true); }
        part(faded + plain, lit, false);
      },
    };
  }

  window.SB.mapping.points = points;
})();

// The points, or the marks that stand for several of them, by WebGL: round, with a fine rim, lit ones above the others; size and opacity by how
// many there are and how near the eye is.
(() => {
  "use strict";
  const VERTEX = `#version 300 es
    in vec3 place; in vec4 colour; in uint kind;
    uniform mat4 view; uniform float base, most, far, thin, grow; uniform bool deep, glow; uniform uint kinds;
    out vec4 ink; out float wide; out float away;
    void main() {
      if (((kinds >> kind) & 1u) == 0u) { gl_Position = vec4(2.0, 2.0, 2.0, 1.0); gl_PointSize = 0.0; ink = vec4(0.0); wide = 0.0; away = 0.0; return; }
      float size = kind == 3u ? grow : kind == 2u ? 0.85 : 1.0;
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

  const PLAIN = 1, FAINT = 2, LIT = 3, only = (...kinds) => kinds.reduce((sum, kind) => sum | (1 << kind), 0);

  // null where the browser has no WebGL 2.
  function points(canvas) {
    const gl = canvas.getContext("webgl2", { antialias: false, alpha: true, premultipliedAlpha: true, depth: true });
    if (!gl) return null;
    let made, where, marks = null, levels = [];
    function ready() {
      made = program(gl);
      where = Object.fromEntries(["view", "base", "most", "dots", "thin", "grow", "far", "ground", "deep", "glow", "kinds"].map((name) => [name, gl.getUniformLocation(made, name)]));
      levels = [];
    }
    ready();
    // A browser may take the graphics memory away; what was drawn is put back as soon as it gives some.
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", ready);

    const upload = (buffer, data) => { gl.bindBuffer(gl.ARRAY_BUFFER, buffer); gl.bufferData(gl.ARRAY_BUFFER, data, gl.DYNAMIC_DRAW); };
    // The buffers of a level; places are sent once, colours when they have changed.
    function bound(level) {
      let held = levels[level];
      if (!held) {
        held = levels[level] = { version: -1, array: gl.createVertexArray(), place: gl.createBuffer(), colour: gl.createBuffer(), kind: gl.createBuffer() };
        gl.bindVertexArray(held.array);
        upload(held.place, marks.middles(level));
        const [place, colour, kind] = ["place", "colour", "kind"].map((name) => gl.getAttribLocation(made, name));
        gl.enableVertexAttribArray(place);
        gl.vertexAttribPointer(place, marks.dims, gl.FLOAT, false, 0, 0);
        gl.bindBuffer(gl.ARRAY_BUFFER, held.colour);
        gl.enableVertexAttribArray(colour);
        gl.vertexAttribPointer(colour, 4, gl.UNSIGNED_BYTE, true, 0, 0);
        gl.bindBuffer(gl.ARRAY_BUFFER, held.kind);
        gl.enableVertexAttribArray(kind);
        gl.vertexAttribIPointer(kind, 1, gl.UNSIGNED_BYTE, 0, 0);
      }
      gl.bindVertexArray(held.array);
      const styles = marks.styles(level);
      if (held.version !== styles.version) {
        upload(held.colour, styles.colours);
        upload(held.kind, styles.kinds);
        held.version = styles.version;
      }
    }

    return {
      // Draw these marks from now on (see marks.js); null: nothing.
      place(next) {
        for (const held of levels) if (held) { gl.deleteVertexArray(held.array); for (const buffer of [held.place, held.colour, held.kind]) gl.deleteBuffer(buffer); }
        [marks, levels] = [next, []];
      },
      // level, ranges: of marks.choose; cell: the width of a mark's cell in pixels; shining: whether some points are lit; grow: their size over that of others.
      draw(eye, { width, height, dots, ground, base, most, thin, level, ranges, cell, shining, glowing, grow }) {
        if (canvas.width !== Math.round(width * dots) || canvas.height !== Math.round(height * dots)) Object.assign(canvas, { width: Math.round(width * dots), height: Math.round(height * dots) });
        gl.viewport(0, 0, canvas.width, canvas.height);
        gl.clearColor(0, 0, 0, 0);
        gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
        if (!marks?.n) return;
        const deep = marks.dims === 3, wide = Math.max(base, cell);
        gl.useProgram(made);
        bound(level);
        gl.uniformMatrix4fv(where.view, false, eye.matrix());
        for (const [name, value] of Object.entries({ base: wide * dots, most: Math.max(most, wide) * dots, dots, thin, grow, far: deep ? height / (2 * Math.tan(0.35)) / eye.at.scale : 1 })) gl.uniform1f(where[name], value);
        gl.uniform3fv(where.ground, ground.map((part) => part / 255));
        gl.uniform1i(where.deep, deep ? 1 : 0);
        gl.enable(gl.BLEND);
        gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
        const part = (kinds, glow) => {
          gl.uniform1i(where.glow, glow ? 1 : 0);
          gl.uniform1ui(where.kinds, kinds);
          for (let i = 0; i < ranges.length; i += 2) gl.drawArrays(gl.POINTS, ranges[i], ranges[i + 1] - ranges[i]);
        };
        gl.disable(gl.DEPTH_TEST);
        if (deep) { gl.enable(gl.DEPTH_TEST); gl.depthFunc(gl.LEQUAL); }
        part(only(PLAIN, FAINT), false);
        if (!shining) return;
        if (deep) gl.clear(gl.DEPTH_BUFFER_BIT);  // what is lit is seen through what is not
        if (glowing) { gl.depthMask(false); part(only(LIT), true); gl.depthMask(true); }
        part(only(LIT), false);
      },
    };
  }

  window.SB.mapping.points = points;
})();

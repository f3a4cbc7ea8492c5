// Similarity: the gauge on its scale of random pairs, the words that made the score, and the matrix of several sentences.
(() => {
  "use strict";
  const { views, el, svg, token, onTheme, number, thumbs, takeaway, t } = window.SB;
  const share = (value) => `${Math.max(0, Math.min(1, value)) * 100}%`;

  views.gauge = (root, host) => (value) => {
    const place = share(value.place), width = value.bins.length;
    let last = -1;
    const room = 120 / (root.clientWidth || 400);
    const marks = value.marks.map(([at, words]) => {
      const near = at - last < room;  // no room for its words beside those of the last one
      if (!near) last = at;
      return el("span", { class: "sb-gauge-mark", style: { left: share(at) } }, near ? null : el("i", { style: { transform: `translateX(-${share(at)})` } }, words));
    });
    root.replaceChildren(
      el("div", { class: "sb-gauge-head" },
        el("div", { class: "sb-big" }, number(value.cosine)), el("div", {}, el("strong", {}, value.words), el("p", {}, value.explain))),
      svg("svg", { class: "sb-gauge-bins", viewBox: `0 0 ${width} 20`, preserveAspectRatio: "none", "aria-hidden": "true" },
        value.bins.map((bin, at) => svg("rect", { x: at + 0.08, y: 20 - 20 * bin, width: 0.84, height: 20 * bin }))),
      el("div", { class: "sb-gauge", role: "meter", "aria-label": "cosine similarity", "aria-valuemin": -1, "aria-valuemax": 1, "aria-valuenow": number(value.cosine), "aria-valuetext": t`${number(value.cosine)}: ${value.words}` },
        el("div", { class: "sb-gauge-fill", style: { width: place } }), el("div", { class: "sb-gauge-pin", style: { left: place } })),
      el("div", { class: "sb-gauge-marks", "aria-hidden": "true" }, marks),
      el("div", { class: "sb-gauge-foot" },
        el("dl", { class: "sb-facts" }, value.facts.map(([name, fact]) => el("div", {}, el("dt", {}, name, window.SB.help(name)), el("dd", {}, number(fact, 4))))),
        thumbs(host, 0, ...value.pair)));
  };

  // Both texts with their words as buttons. The one that is pointed at, or has the focus, is joined to its partners in the other text.
  views.words = (root) => (value) => {
    if (value.empty) return root.replaceChildren(el("p", { class: "sb-note" }, value.empty));
    const lines = svg("svg", { class: "sb-words-lines", "aria-hidden": "true" });
    const most = Math.max(1e-9, ...value.totals.flat());
    const nodes = [[], []], likeness = (side, word, other) => (side === 0 ? value.alike[word][other] : value.alike[other][word]);
    const told = el("p", { class: "sb-words-told sb-dim", role: "status" });
    const rest = "Hover over a word, or focus it with Tab, to see its match.";
    const textOf = (side, word) => value.texts[side].words[word][1];

    function join(side, word) {
      const partner = value.partners[side][word], others = nodes[1 - side];
      const high = Math.max(...others.map((_, other) => likeness(side, word, other)));
      nodes[side].forEach((node, at) => node.classList.toggle("sb-chosen", at === word));
      others.forEach((node, other) => {
        const near = Math.max(0, likeness(side, word, other)) / (high || 1);
        node.style.setProperty("--near", near > 0.6 ? `${Math.round(100 * (near - 0.6) / 0.4)}%` : "0%");
        node.classList.toggle("sb-chosen", other === partner);
      });
      const box = body.getBoundingClientRect(), from = nodes[side][word].getBoundingClientRect(), to = others[partner].getBoundingClientRect();
      const up = side === 0 ? [from, to] : [to, from];
      const x = (one) => one.left + one.width / 2 - box.left;
      lines.replaceChildren(svg("path", { d: `M${x(up[0])} ${up[0].bottom - box.top} C${x(up[0])} ${up[0].bottom - box.top + 26} ${x(up[1])} ${up[1].top - box.top - 26} ${x(up[1])} ${up[1].top - box.top}` }));
      const own = textOf(side, word), other = textOf(1 - side, partner), similarity = number(likeness(side, word, partner), 2);
      const part = value.sums && (value.totals[side][word] < 0 ? "−" : "+") + Math.abs(value.totals[side][word]).toFixed(3);
      told.textContent = part ? t`“${own}” is most similar to “${other}” (${similarity}) and contributes ${part} to the cosine.` : t`“${own}” is most similar to “${other}” (${similarity}).`;
    }
    function part() {
      for (const node of nodes.flat()) { node.classList.remove("sb-chosen"); node.style.removeProperty("--near"); }
      lines.replaceChildren();
      told.textContent = rest;
    }
    const text = (side) => el("p", { class: "sb-words-text", translate: "no" }, value.texts[side].words.flatMap(([before, word], at) => {
      const total = value.totals[side][at];
      const node = el("button", { type: "button", class: "sb-word", style: { "--tint": `${Math.round(55 * Math.max(0, total) / most)}%` },
        on: { mouseenter: () => join(side, at), mouseleave: part, focus: () => join(side, at), blur: part, click: () => join(side, at) } }, word);
      nodes[side].push(node);
      return [before, node];
    }), value.texts[side].tail);
    const body = el("div", { class: "sb-words" }, text(0), text(1), lines);
    root.replaceChildren(el("h3", {}, "Contribution of each word"), body, told, ...value.facts.map((fact) => el("p", { class: "sb-note" }, fact)));
    part();
  };

  // The matrix: cells with their numbers where there is room for them, a picture that is read by the pointer or the arrow keys where there is none.
  views.matrix = (root) => {
    let value = null, byLikeness = true, at = [0, 0];
    const rows = () => (byLikeness ? value.order : value.labels.map((_, row) => row));
    const tint = (score) => Math.max(0, Math.min(1, (score - value.low) / (value.high - value.low || 1)));

    function cells() {
      const order = rows();
      return el("table", { class: "sb-matrix", translate: "no" },
        el("thead", {}, el("tr", {}, el("td", {}), order.map((row) => el("th", { scope: "col", title: value.labels[row] }, String(row + 1))))),
        el("tbody", {}, order.map((row) => el("tr", {},
          el("th", { scope: "row", title: value.labels[row] }, el("b", {}, String(row + 1)), el("span", {}, value.labels[row])),
          order.map((other) => el("td", { title: `${value.labels[row]}\n${value.labels[other]}`, class: tint(value.values[row][other]) > 0.62 ? "sb-strong" : "", style: { "--tint": share(tint(value.values[row][other])) } },
            number(value.values[row][other], 2)))))));
    }

    function picture() {
      const order = rows(), n = order.length, canvas = el("canvas", { tabindex: 0, role: "img", "aria-label": t`${n} sentences compared; move with the arrow keys` });
      const told = el("div", { class: "sb-matrix-told", role: "status" }), nearest = el("ol", { class: "sb-matrix-near" });
      const scale = Math.max(1, Math.floor(1200 / n));
      canvas.width = canvas.height = n * scale;
      const paint = () => {
        const pen = canvas.getContext("2d"), hue = token("--sb-accent"), ground = token("--sb-ground");
        pen.globalAlpha = 1;
        pen.fillStyle = ground;
        pen.fillRect(0, 0, canvas.width, canvas.height);
        pen.fillStyle = hue;
        order.forEach((row, y) => order.forEach((other, x) => {
          pen.globalAlpha = tint(value.values[row][other]);
          pen.fillRect(x * scale, y * scale, scale, scale);
        }));
        pen.globalAlpha = 1;
        pen.strokeStyle = token("--sb-ink");
        pen.lineWidth = Math.max(2, scale / 8);
        pen.strokeRect(at[0] * scale, at[1] * scale, scale, scale);
      };
      const tell = () => {
        const [row, other] = [order[at[1]], order[at[0]]];
        told.replaceChildren(el("b", {}, number(value.values[row][other], 3)), el("p", {}, el("span", { class: "sb-dim" }, `${row + 1} `), el("span", { translate: "no" }, value.labels[row])), el("p", {}, el("span", { class: "sb-dim" }, `${other + 1} `), el("span", { translate: "no" }, value.labels[other])));
        const near = value.labels.map((_, one) => one).filter((one) => one !== row).sort((a, b) => value.values[row][b] - value.values[row][a]).slice(0, 8);
        nearest.replaceChildren(...near.map((one) => el("li", {}, el("span", { translate: "no" }, value.labels[one]), el("b", {}, number(value.values[row][one], 2)))));
        paint();
      };
      const go = (x, y) => { at = [Math.max(0, Math.min(n - 1, x)), Math.max(0, Math.min(n - 1, y))]; tell(); };
      const point = (event) => { const box = canvas.getBoundingClientRect(); go(Math.floor((event.clientX - box.left) / box.width * n), Math.floor((event.clientY - box.top) / box.height * n)); };
      for (const name of ["pointermove", "pointerdown"]) canvas.addEventListener(name, point);
      canvas.addEventListener("keydown", (event) => {
        const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
        if (step) { event.preventDefault(); go(at[0] + step[0], at[1] + step[1]); }
      });
      go(Math.min(at[0], n - 1), Math.min(at[1], n - 1));
      root.repaint = paint;
      return el("div", { class: "sb-matrix-picture" }, canvas, el("div", {}, told, el("h3", {}, "Most similar to the first sentence"), nearest));
    }

    function draw() {
      const order = rows(), n = order.length, wide = root.clientWidth || 600;
      const fits = n <= 14 && wide - Math.min(260, wide * 0.34) > n * 40;
      root.repaint = null;
      const swap = el("button", { type: "button", class: "sb-plain-button", "aria-pressed": byLikeness ? "true" : "false", on: { click: () => { byLikeness = !byLikeness; draw(); } } }, byLikeness ? "In input order" : "Group similar sentences");
      root.replaceChildren(
        el("div", { class: "sb-table-head" }, swap, takeaway("similarities", ["", ...order.map((row) => value.labels[row])], () => order.map((row) => [value.labels[row], ...order.map((other) => value.values[row][other])]))),
        fits ? el("div", { class: "sb-scroll", tabindex: 0, role: "group", "aria-label": "Similarity of each pair" }, cells()) : picture(),
        ...(value.note ? [el("p", { class: "sb-note" }, value.note)] : []));
    }
    onTheme(() => root.repaint?.());
    return (given) => { value = given; at = [0, 0]; draw(); };
  };
})();

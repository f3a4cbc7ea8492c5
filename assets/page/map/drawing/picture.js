// The whole map as one picture, twice as fine as on the screen, with the legend beside it.
(() => {
  "use strict";
  const { el, token, grouped, mapping, t } = window.SB, DOTS = 2, BESIDE = 250, ABOVE = 44, LINE = 21;

  // layers: canvases painted at two dots a pixel; names: of the legend, {id, label, size}.
  mapping.picture = (root, { size: [width, height], layers, names, title }) => {
    const made = el("canvas", { width: (width + BESIDE) * DOTS, height: (height + ABOVE) * DOTS }), pen = made.getContext("2d");
    pen.fillStyle = token("--sb-ground"); pen.fillRect(0, 0, made.width, made.height);
    for (const one of layers) pen.drawImage(one, 0, ABOVE * DOTS, width * DOTS, height * DOTS);
    pen.setTransform(DOTS, 0, 0, DOTS, 0, 0);
    const family = getComputedStyle(root).fontFamily, room = Math.floor((height - 20) / LINE);
    pen.textBaseline = "middle";
    pen.fillStyle = token("--sb-ink"); pen.font = `600 17px ${family}`; pen.fillText(title, 18, 24);
    pen.font = `12.5px ${family}`;
    names.slice(0, room).forEach((name, i) => {
      const y = 58 + i * LINE, label = i === room - 1 && names.length > room ? t`and ${names.length - room + 1} more` : `${name.label.slice(0, 24)} · ${grouped(name.size)}`;
      pen.fillStyle = mapping.css(mapping.rgb(name)); pen.beginPath(); pen.arc(width + 14, y, 5, 0, 7); pen.fill();
      pen.fillStyle = token("--sb-ink"); pen.fillText(label, width + 26, y);
    });
    return made;
  };
})();

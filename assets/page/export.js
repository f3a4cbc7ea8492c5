// Starts the map of an exported file: what is chosen by lasso or click is listed below it.
(() => {
  "use strict";
  const SB = window.SB;
  const data = JSON.parse(document.getElementById("data").textContent);
  if (matchMedia("(prefers-color-scheme: dark)").matches) document.body.classList.add("dark");
  document.querySelector("h1").textContent = data.title;
  document.title = data.title;
  const list = document.getElementById("list");
  const show = SB.views.table(list, { trigger() {} });
  const tell = (rows) => {
    list.hidden = !rows.length;
    show({ columns: [{ name: "Text", kind: "text" }], rows: rows.slice(0, 500).map((row) => [data.texts[row]]), caption: `${SB.grouped(rows.length)} chosen` });
  };
  const scene = SB.scene(document.getElementById("map"), { textOf: (row) => data.texts[row], onPoint: (row) => tell([row]), onLasso: tell });
  const choice = document.querySelector("select");
  data.colourings.forEach((colouring, index) => choice.append(SB.el("option", { value: index }, colouring.name)));
  choice.addEventListener("change", () => scene.draw({ ...data.map, ...data.colourings[choice.value] }));
  tell([]);
  scene.draw(data.map);
})();

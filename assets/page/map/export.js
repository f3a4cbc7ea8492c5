// Starts the map of an exported file: what is chosen is listed beside it, as on the page.
(() => {
  "use strict";
  const SB = window.SB;
  const data = JSON.parse(document.getElementById("data").textContent);
  if (matchMedia("(prefers-color-scheme: dark)").matches) document.body.classList.add("dark");
  document.querySelector("h1").textContent = data.title;
  document.title = data.title;
  document.querySelector("header p").textContent = data.note;
  const [points, dims] = [SB.mapping.decode(data.map.points, Float32Array), data.map.dims];
  const clusters = SB.mapping.decode(data.map.clusters, Int16Array), names = new Map(data.map.cluster_names.map((one) => [one.id, one]));
  const columns = new Map(Object.entries(data.columns).map(([name, one]) => [name, SB.mapping.column(one)]));
  const removed = data.map.hidden ? atob(data.map.hidden) : "";

  // The file holds no model: what lies nearest on the map stands for what is nearest in meaning.
  function near(row, rows) {
    const shown = rows && new Set(rows);
    const far = (other) => { let sum = 0; for (let axis = 0; axis < dims; axis += 1) sum += (points[other * dims + axis] - points[row * dims + axis]) ** 2; return sum; };
    const others = Array.from({ length: data.map.n }, (_, other) => [far(other), other]).filter(([, other]) => other !== row && removed.charCodeAt(other) !== 1 && (!shown || shown.has(other)));
    return { rows: others.sort((a, b) => a[0] - b[0]).slice(0, 12).map(([, other]) => other), title: "Nearest on the map" };
  }
  // The values of the columns that are chosen beside the texts: [column, text, a word of the page's own].
  function cellsOf(row) {
    return SB.mapping.shownColumns(data.map.colours).map((name) => {
      const found = columns.get(name);
      if (!found) { const one = names.get(clusters[row]); return [name, one ? one.label : "", !one || one.id < 0]; }
      if (found.numbers) return [name, Number.isNaN(found.numbers[row]) ? "" : SB.mapping.write(found, found.numbers[row]), false];
      const labels = [];
      SB.mapping.each(found, row, (code) => labels.push(found.labels[code] ?? ""));
      return [name, labels.join(", "), false];
    }).filter(([, words]) => words);
  }
  const scene = SB.scene(document.getElementById("map"), {
    textOf: (row) => data.texts[row], cellsOf,
    items: (rows) => rows.map((row) => ({ row, line: data.lines[row] ?? row + 1, text: data.texts[row], cells: cellsOf(row) })),
    near: async (row, rows) => near(row, rows),
    column: async (name) => data.columns[name],
    actions: () => [], forms: () => [],
  });
  SB.map = { spot: (row) => scene.spot(row) };
  scene.draw(data.map);
})();

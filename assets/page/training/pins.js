// What a person pinned before a training: the similarity of each pair, before, on the way and now, and what lies nearest to the query.
(() => {
  "use strict";
  const { views, el, svg, number, t } = window.SB;
  const WIDE = 132, HIGH = 34, EDGE = 3;

  // All pairs share one scale, so that a line that climbs further stands for a similarity that does.
  function line(points, low, high) {
    const last = Math.max(1, points[points.length - 1][0]);
    const at = ([step, value]) => [EDGE + (WIDE - 2 * EDGE) * step / last, HIGH - EDGE - (HIGH - 2 * EDGE) * (value - low) / (high - low || 1)];
    const places = points.map(at), end = places[places.length - 1];
    return svg("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, class: "sb-pin-line", "aria-hidden": "true" },
      svg("polyline", { points: places.map((place) => place.map((value) => value.toFixed(1)).join(",")).join(" ") }),
      svg("circle", { cx: end[0].toFixed(1), cy: end[1].toFixed(1), r: 2.6 }));
  }

  function moved(item) {
    if (item.before === null || item.before === undefined) return "";
    const change = item.before - item.rank;
    return change > 0 ? t`↑ from ${item.before}` : change < 0 ? t`↓ from ${item.before}` : "as before";
  }

  views.pins = (root) => (value) => {
    const all = value.pairs.flatMap((pair) => [...pair.line.map((point) => point[1]), pair.now, ...(pair.before === null ? [] : [pair.before])]);
    const low = Math.min(0, ...all), high = Math.max(1, ...all);
    root.replaceChildren(
      el("h3", {}, "Your own examples"), el("p", { class: "sb-dim sb-pin-which" }, value.which),
      ...(value.pairs.length ? [el("ul", { class: "sb-pins" }, value.pairs.map((pair) => el("li", {},
        el("div", { class: "sb-pin-texts" }, pair.texts.map((text) => el("p", { translate: "no" }, text))),
        el("div", { class: "sb-pin-scores" }, ...(pair.line.length > 1 ? [line(pair.line, low, high)] : []),
          el("span", {}, ...(pair.before === null ? [] : [el("span", { class: "sb-dim" }, number(pair.before)), " → "]), el("b", {}, number(pair.now)))))))] : []),
      ...(value.query ? [el("p", { class: "sb-pin-query" }, el("b", {}, t`Nearest to “${value.query}”`), " ", el("span", { class: "sb-dim" }, value.among)),
        el("ol", { class: "sb-pins sb-pin-nearest" }, value.nearest.map((item) => el("li", {}, el("span", { class: "sb-pin-text", translate: "no" }, item.text),
          el("span", { class: "sb-pin-scores" }, el("span", { class: item.before > item.rank ? "sb-up" : "sb-dim" }, moved(item)), el("b", {}, number(item.similarity))))))] : []));
  };
})();

// What an evaluation comes to: in a sentence, and as score against speed.
(() => {
  "use strict";
  const { views, el, token, number, grouped, plain, plotly, onTheme, t } = window.SB;

  views.said = (root) => (value) => root.replaceChildren(el("p", { class: "sb-said" }, value.text), ...(value.more || []).map((words) => el("p", { class: "sb-dim" }, words)));

  const spread = (numbers) => Math.max(...numbers) - Math.min(...numbers);

  views.speeds = (root) => {
    const plot = el("div", { class: "sb-curve sb-speeds", role: "img" });
    root.replaceChildren(plot);
    let last = null;
    async function draw(value) {
      last = value;
      const told = value.points.map((point) => `${point.name} ${number(point.score)}, ${grouped(Math.round(point.rate))}`).join("; ");
      plot.setAttribute("aria-label", t`${value.metric} and sentences per second: ${told}`);
      const Plotly = await plotly(plot);
      if (!Plotly || last !== value || !root.isConnected) return;
      const ink = token("--sb-dim"), grid = token("--sb-line"), accent = token("--sb-accent");
      const rates = value.points.map((point) => Math.log10(point.rate)), room = 0.35 + 0.12 * (Math.max(...rates) - Math.min(...rates));
      const narrow = root.clientWidth < 480, most = narrow ? 16 : 34;
      const short = (name) => (name.length > most ? `${name.slice(0, most - 1)}…` : name);
      const whisker = (point, end, sign) => (typeof point[end] === "number" ? sign * (point[end] - point.score) : 0);
      const reach = (point, end, sign) => (typeof point[end] === "number" ? Math.max(0, sign * (point[end] - point.rate)) : 0);
      const axis = { gridcolor: grid, linecolor: grid, zeroline: false, tickfont: { size: 11, color: ink }, automargin: true };
      const middle = (Math.max(...rates) + Math.min(...rates)) / 2;
      // Names stand beside their points, on the side that has room; of two that would meet there, the better one's above and the other's below.
      const near = 0.1 * spread(value.points.flatMap((point) => [point.low ?? point.score, point.high ?? point.score]));
      // Of two on different sides both names run towards the middle: they meet where there is less room than both are long.
      const decade = (root.clientWidth - 90) / (Math.max(...rates) - Math.min(...rates) + 2 * room);
      const facing = (one, other) => Math.abs(rates[one] - rates[other]) * decade < 7 * (short(value.points[one].name).length + short(value.points[other].name).length) + 20;
      const meets = (one, other) => ((rates[one] > middle) === (rates[other] > middle) || facing(one, other)) && Math.abs(value.points[one].score - value.points[other].score) < near;
      const heights = value.points.map((point, own) => {
        const others = [...value.points.keys()].filter((other) => other !== own && meets(own, other));
        const above = others.filter((other) => value.points[other].score > point.score || (value.points[other].score === point.score && other < own));
        if (others.length && !above.length) return "top";
        if (above.length && above.length === others.length) return "bottom";
        return typeof point.slowest === "number" ? "top" : "middle"; // a whisker along the speed would cross a name beside the point
      });
      Plotly.react(plot, [{
        x: value.points.map((point) => point.rate), y: value.points.map((point) => point.score), type: "scatter", mode: "markers+text",
        text: value.points.map((point) => plain(short(point.name))), hovertext: value.points.map((point) => plain(point.name)),
        textposition: value.points.map((point, own) => `${heights[own]} ${rates[own] > middle ? "left" : "right"}`), textfont: { size: 12, color: token("--sb-ink") },
        marker: { size: 10, color: accent }, cliponaxis: false,
        error_y: { type: "data", symmetric: false, array: value.points.map((point) => whisker(point, "high", 1)), arrayminus: value.points.map((point) => whisker(point, "low", -1)), color: ink, thickness: 1.2, width: 4 },
        ...(value.points.some((point) => typeof point.slowest === "number") ? { error_x: { type: "data", symmetric: false, array: value.points.map((point) => reach(point, "fastest", 1)), arrayminus: value.points.map((point) => reach(point, "slowest", -1)), color: ink, thickness: 1.2, width: 4 } } : {}),
        hovertemplate: `%{hovertext}<br>${plain(value.metric)} %{y:.3f}<br>${t`${"%{x:,.0f}"} sentences/s`}<extra></extra>`,
      }], {
        title: { text: narrow ? "Score and speed" : t`${plain(value.metric)} against speed, with 95% intervals`, font: { size: 13, color: token("--sb-ink") }, x: 0, xref: "paper", xanchor: "left", y: 0.97 },
        paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { family: token("--font") || "sans-serif", color: ink },
        margin: { l: 8, r: 8, t: 36, b: 8 }, height: 280, showlegend: false, hovermode: "closest",
        hoverlabel: { bgcolor: token("--sb-card"), bordercolor: grid, font: { color: token("--sb-ink"), size: 12 } },
        xaxis: { ...axis, type: "log", range: [Math.min(...rates) - room, Math.max(...rates) + room], title: { text: "sentences per second", font: { size: 12, color: ink } }, tickformat: "~s" },
        yaxis: { ...axis, tickformat: ".3~f" },
      }, { displayModeBar: false, responsive: true });
    }
    onTheme(() => last && draw(last));
    return draw;
  };
})();

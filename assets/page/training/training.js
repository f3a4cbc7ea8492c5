// A run while it trains: where it stands, its curves, and the scores before and after.
(() => {
  "use strict";
  const { views, el, select, sentences, token, number, grouped, duration, plotly, onTheme, t } = window.SB;

  const NEWEST = 4; // rows of the list of runs that are always visible

  views.run = (root) => (value) => {
    if (value.empty) return root.replaceChildren(el("div", { class: "sb-empty" }, value.empty));
    const share = value.share;
    const facts = [
      ["Step", value.steps ? t`${grouped(value.step)} of ${grouped(value.steps)}` : "–"],
      ["Loss", number(value.loss, 4)],
      ["Rows per second", value.rate || "–"],
      [value.live ? "Time left" : "Time", duration(value.live ? value.left : value.seconds)],
    ];
    root.replaceChildren(
      el("div", { class: "sb-run-head" }, el("div", {}, el("strong", { translate: "no" }, value.title), el("p", { class: "sb-dim" }, value.subtitle)),
        el("span", { class: `sb-badge sb-${value.status}` }, value.status)),
      el("div", { class: "sb-progress", role: "progressbar", "aria-label": "training", "aria-valuemin": 0, "aria-valuemax": 100, "aria-valuenow": Math.round(share * 100) },
        el("i", { class: value.live ? "sb-live" : "", style: { width: `${share * 100}%` } })),
      el("dl", { class: "sb-facts sb-wide" }, facts.map(([name, fact]) => el("div", {}, el("dt", {}, name, window.SB.help(name)), el("dd", {}, fact)))),
      ...(value.phase ? [el("p", { class: "sb-note" }, value.phase)] : []),
      ...(value.part ? [el("p", { class: "sb-note" }, value.part)] : []),
      ...(value.parts && value.parts.length && value.live ? [parts(value.parts)] : []),
      ...(value.message ? [el("p", { class: value.status === "failed" ? "sb-alert" : "sb-note" }, value.message)] : []),
      ...(value.scores ? [scores(value.scores)] : []),
      ...(value.parts && value.parts.length && !value.live ? [el("details", { class: "sb-more" },
        el("summary", {}, value.parts.length === 1 ? "Finished training run" : t`Individual training runs (${value.parts.length})`), parts(value.parts))] : []),
      ...(value.rows || []).map((words) => el("p", { class: "sb-note" }, words)));
  };

  // Work in the background, such as word vectors that are made: one phase after the other, each with what it counts.
  views.job = (root) => (value) => {
    const share = value.share;
    const facts = value.live && value.status === "running" ? [
      ["Phase", value.phase || "–"],
      [value.unit ? value.unit[0].toUpperCase() + value.unit.slice(1) : "Step", value.done ? `${grouped(value.done)}${value.total ? t` of ${grouped(value.total)}` : ""}` : "–"],
      ["Rate", value.rate ? `${value.rate < 10 ? number(value.rate, 1) : grouped(Math.round(value.rate))}/s` : "–"],
      ["Time left", duration(value.left)], ["Time", duration(value.seconds)],
    ] : value.seconds ? [["Time", duration(value.seconds)]] : [];
    root.replaceChildren(
      el("div", { class: "sb-run-head" }, el("div", {}, el("strong", {}, value.title), ...(value.status === "queued" ? [el("p", { class: "sb-dim" }, value.phase)] : [])),
        el("span", { class: `sb-badge sb-${value.status}` }, value.badge)),
      el("div", { class: "sb-progress", role: "progressbar", "aria-label": value.what || "work", "aria-valuemin": 0, "aria-valuemax": 100, "aria-valuenow": Math.round(share * 100) },
        el("i", { class: value.live ? "sb-live" : "", style: { width: `${share * 100}%` } })),
      ...(facts.length ? [el("dl", { class: "sb-facts sb-wide" }, facts.map(([name, fact]) => el("div", {}, el("dt", {}, name, window.SB.help(name)), el("dd", {}, fact))))] : []),
      ...(value.message ? [el("p", { class: value.status === "failed" ? "sb-alert" : "sb-note" }, value.message)] : []));
  };

  const ACTIONS = { stop: "Stop", answer: "Answer", resume: "Resume", use: "Use", download: "Download", rename: "Rename", delete: "Delete" };
  const VERDICTS = { better: "sb-up", worse: "sb-down" };

  // Scores before and after with the gain and its verdict; coloured only where the difference is more than chance.
  const gain = (change) => [el("span", {}, `${change.before} → ${change.after}`), " ",
    el("span", { class: VERDICTS[change.verdict] || "sb-dim" }, change.gain, ...(change.verdict ? [" · ", el("span", {}, change.verdict)] : []))];
  window.SB.gain = gain;

  // The visitor's runs. The first action of a row is a button, the others are in its menu; the name opens the run.
  views.runs = (root, host) => {
    let pending = null, open = "", sure = ""; // ids of the runs whose menu is open, and whose deletion is to be confirmed
    const later = (value) => { pending = null; draw(value); };
    function draw(value) {
      // A list that is redrawn while somebody types a new name would drop it.
      if (root.querySelector(".sb-runs-name")) { pending = value; return; }
      const send = (action, row, more) => { open = sure = ""; select(host, action, { id: row.id, ...more }); };
      const button = (row, action) => el("button", { type: "button", class: "sb-small-button", "data-action": action, "aria-label": t`${ACTIONS[action]} ${row.name}`,
        on: { click: (event) => act(event.currentTarget, row, action) } }, action === "delete" && sure === row.id ? "Yes, delete" : ACTIONS[action]);
      function act(pressed, row, action) {
        if (action === "rename") return rename(pressed.closest(".sb-runs-row"), row);
        if (action === "delete" && sure !== row.id) {
          sure = row.id;
          return pressed.replaceChildren("Yes, delete");
        }
        if (action === "download") window.SB.wanted = "tune-zip";
        pressed.disabled = true;
        return send(action, row);
      }
      function rename(line, row) {
        const input = el("input", { class: "sb-runs-name", value: row.name, maxlength: 80, "aria-label": "New name" });
        let ended = false; // removing the input blurs it
        const end = (save) => {
          if (ended) return;
          ended = true;
          const name = input.value.trim();
          input.remove();
          if (save && name && name !== row.name) send("rename", row, { name });
          later(pending || value);
        };
        input.addEventListener("keydown", (event) => { if (event.key === "Enter") end(true); else if (event.key === "Escape") end(false); });
        input.addEventListener("blur", () => end(true));
        line.querySelector(".sb-runs-open").replaceWith(input);
        input.focus();
        input.select();
      }
      const row = (one) => {
        const [first, ...others] = one.actions, menu = others.length ? el("details", { class: "sb-runs-menu" },
          el("summary", { "aria-label": t`More actions for ${one.name}` }, "⋯"), el("div", {}, others.map((action) => button(one, action)))) : null;
        if (menu) {
          menu.open = open === one.id;
          // Not at "toggle", which comes later: the list may be redrawn in between.
          menu.firstChild.addEventListener("click", () => { open = menu.open ? "" : one.id; sure = ""; });
        }
        return el("div", { class: one.followed ? "sb-runs-row sb-followed" : "sb-runs-row", "data-status": one.status },
          el("div", {}, el("button", { type: "button", class: "sb-runs-open", translate: "no", "aria-pressed": one.followed ? "true" : "false", on: { click: () => select(host, "follow", { id: one.id }) } }, one.name),
            el("p", { class: "sb-dim" }, el("span", { class: `sb-badge sb-${one.status}` }, one.status), " ", el("span", {}, one.words)),
            ...(one.gain ? [el("p", { class: "sb-runs-gain" }, ...gain(one.gain))] : []),
            ...(one.share ? [el("div", { class: "sb-progress", "aria-hidden": true }, el("i", { style: { width: `${one.share * 100}%` } }))] : [])),
          first ? button(one, first) : null, menu);
      };
      const earlier = value.rows.slice(NEWEST), shown = value.rows.slice(0, NEWEST);
      const more = earlier.length ? el("details", { class: "sb-more" }, el("summary", {}, t`Earlier runs (${earlier.length})`), earlier.map(row)) : null;
      if (more) more.open = Boolean(root.querySelector(".sb-more")?.open);
      root.replaceChildren(el("div", { class: "sb-panel sb-runs" }, el("h3", {}, "Your runs"), ...shown.map(row), ...(more ? [more] : []),
        ...(value.note ? [el("p", { class: "sb-dim" }, value.note)] : [])));
    }
    return draw;
  };

  // Of a run of several trainings: each that is done, with its scores before and after.
  function parts(rows) {
    return el("table", { class: "sb-parts" }, el("tbody", {}, rows.map((row) => el("tr", {}, el("th", { scope: "row" }, row.title),
      el("td", {}, row.before), el("td", {}, "→"), el("td", {}, el("b", {}, row.after))))));
  }

  function scores(value) {
    // The whisker is the 95% interval, the bar ends at the score.
    const within = (part) => Math.max(0, Math.min(1, part)) * 100;
    const bar = (name, score, words, className, interval) => el("div", { class: "sb-compare" }, el("span", {}, name),
      el("span", { class: "sb-compare-bar" }, el("i", { class: className, style: { width: `${within(score)}%` } }),
        ...(interval ? [el("u", { style: { left: `${within(interval[0])}%`, width: `${within(interval[1]) - within(interval[0])}%` } })] : [])),
      el("b", {}, words, ...(interval ? [el("small", { title: "95% bootstrap interval" }, `${number(interval[0], 3)} – ${number(interval[1], 3)}`)] : [])));
    const [first, second] = value.intervals || [];
    return el("div", { class: "sb-scores" },
      el("p", { class: `sb-said ${VERDICTS[value.verdict] || ""}` }, value.said),
      ...(value.more ? [el("p", {}, value.more)] : []),
      el("h3", {}, value.metric),
      bar("Before", value.before, value.change.before, "sb-before", first), bar("After", value.after, value.change.after, "sb-after", second),
      ...(value.intervals && value.intervals[1] ? [el("p", { class: "sb-dim sb-fineprint" }, "Error bars and “between” show 95% bootstrap intervals.")] : []),
      ...(value.confused || []).map((words) => el("p", { class: "sb-dim" }, words)));
  }

  window.SB.scores = scores;

  // How much of the tuning the model has: a slider from untuned to tuned, with the scores where they were measured.
  views.strength = (root, host) => (value) => {
    const marks = value.marks, list = "strength-" + Math.random().toString(36).slice(2);
    const at = (name, place) => {
      if (marks.some((mark) => typeof mark[name] !== "number")) return null;
      const next = marks.findIndex((mark) => mark.strength >= place);
      const high = marks[next < 0 ? marks.length - 1 : next], low = marks[Math.max(0, next - 1)];
      return high.strength === low.strength ? high[name] : low[name] + (high[name] - low[name]) * (place - low.strength) / (high.strength - low.strength);
    };
    // As elsewhere, a change is the difference of the rounded scores.
    const change = (name, place) => { const now = at(name, place); return now === null ? null : Math.round(1000 * now) - Math.round(1000 * marks[0][name]); };
    const signed = (thousandths) => `${thousandths < 0 ? "−" : thousandths > 0 ? "+" : "±"}${(Math.abs(thousandths) / 1000).toFixed(3)}`;
    const words = el("p", { class: "sb-strength-words", "aria-live": "polite" });
    const slider = el("input", { type: "range", min: 0, max: 1, step: 0.05, value: value.strength, list, "aria-label": "fine-tuning strength" });
    const choose = el("button", { type: "button", class: "sb-small-button", on: { click: () => {
      choose.disabled = true;
      select(host, "strength", Number(slider.value));
    } } }, "Use this strength");
    const tell = () => {
      const place = Number(slider.value), yours = change("score", place), general = change("general", place);
      const known = marks.some((mark) => Math.abs(mark.strength - place) < 1e-6);
      words.replaceChildren(el("b", {}, place.toFixed(2)), " ", general === null ? t`your data ${signed(yours)}` : t`your data ${signed(yours)}, everyday language ${signed(general)}`,
        " ", el("span", { class: "sb-dim" }, known ? "Measured." : "Estimated between two measured strengths."));
      choose.disabled = Math.abs(place - value.strength) < 1e-6;
    };
    slider.addEventListener("input", tell);
    root.replaceChildren(el("h3", {}, "Fine-tuning strength"),
      el("p", { class: "sb-dim" }, ...sentences(["Interpolates between the base model and the fine-tuned model. Nothing is retrained, and you can change it back.", ...(value.note ? [value.note] : [])])),
      el("div", { class: "sb-strength" }, el("span", { class: "sb-dim" }, "untuned"), slider, el("span", { class: "sb-dim" }, "tuned")),
      el("datalist", { id: list }, marks.map((mark) => el("option", { value: mark.strength }))),
      el("div", { class: "sb-strength-end" }, words, choose),
      el("table", { class: "sb-parts sb-marks" },
        el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Strength"), el("th", { scope: "col" }, value.metric),
          ...(change("general", 1) === null ? [] : [el("th", { scope: "col" }, "Everyday language")]))),
        el("tbody", {}, marks.map((mark) => el("tr", { class: Math.abs(mark.strength - value.strength) < 1e-6 ? "sb-kept" : "" },
          el("th", { scope: "row" }, mark.strength === 0 ? t`${mark.strength.toFixed(2)}, base model` : mark.strength === 1 ? t`${mark.strength.toFixed(2)}, tuned` : mark.strength.toFixed(2)), el("td", {}, number(mark.score)),
          ...(change("general", 1) === null ? [] : [el("td", {}, number(mark.general))]))))));
    tell();
  };

  function layout(digits) {
    const grid = token("--sb-line"), ink = token("--sb-dim");
    const axis = { gridcolor: grid, linecolor: grid, zeroline: false, tickfont: { size: 11, color: ink }, automargin: true };
    return {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { family: token("--font") || "sans-serif", color: ink },
      margin: { l: 8, r: 8, t: 8, b: 8 }, height: 204, showlegend: false, hovermode: "x unified", uirevision: "run",
      hoverlabel: { bgcolor: token("--sb-card"), bordercolor: grid, font: { color: token("--sb-ink"), size: 12 } },
      xaxis: { ...axis, showgrid: false, rangemode: "tozero" }, yaxis: { ...axis, tickformat: digits },
    };
  }

  views.curves = (root) => {
    // The headings wrap, which those of plotly do not.
    const left = el("div", { class: "sb-curve" }), right = el("div", { class: "sb-curve" }), judged = el("h4", {});
    root.replaceChildren(el("div", { class: "sb-curves" }, el("div", {}, el("h4", {}, "Loss"), left), el("div", {}, judged, right)));
    let last = null;
    async function draw(value) {
      last = value;
      const Plotly = await plotly(left);
      if (!Plotly || last !== value || !root.isConnected) return;
      const accent = token("--sb-accent"), soft = token("--sb-soft-line");
      const options = { displayModeBar: false, responsive: true };
      const line = (x, y, name, color, width, mode) => ({ x, y, name, mode: mode || "lines", type: "scatter", line: { color, width }, marker: { color, size: 6 }, hovertemplate: "%{y:.4f}" });
      // Without a point the axes would show numbers that mean nothing.
      const bare = (frame, words) => {
        frame.xaxis.visible = frame.yaxis.visible = false;
        frame.annotations = [{ text: words, showarrow: false, font: { size: 12, color: token("--sb-dim") }, x: 0.5, y: 0.5, xref: "paper", yref: "paper" }];
      };
      const loss = layout(".3~g");
      if (!value.loss.x.length) bare(loss, "shown after the first steps");
      Plotly.react(left, [line(value.loss.x, value.loss.y, "loss", soft, 1), line(value.smooth.x, value.smooth.y, "smoothed", accent, 2)], loss, options);
      const dev = layout(".3f");
      judged.replaceChildren(t`${value.dev.name || "Score"} on the held-out rows`, ...(value.dev.part ? [" · ", el("span", {}, value.dev.part)] : []));
      if (!value.dev.x.length) bare(dev, value.dev.empty);
      if (value.dev.x.length) {
        // A single point has no range of its own, and no score is above 1.
        const low = Math.min(...value.dev.y), high = Math.max(...value.dev.y), room = Math.max(0.01, (high - low) * 0.15);
        dev.yaxis.range = [low - room, Math.max(high, Math.min(1, high + room))];
      }
      if (value.dev.x.length) dev.shapes = [{ type: "line", xref: "paper", x0: 0, x1: 1, y0: value.dev.y[0], y1: value.dev.y[0], line: { color: token("--sb-dim"), width: 1, dash: "dot" } }];
      Plotly.react(right, [line(value.dev.x, value.dev.y, "score", accent, 2, "lines+markers")], dev, options);
    }
    onTheme(() => last && draw(last));
    return draw;
  };
})();

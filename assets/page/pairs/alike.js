// Near-duplicates: a threshold slider with live counts, and the groups as cards.
(() => {
  "use strict";
  const { views, el, select, sentences, number, grouped, t } = window.SB;
  // "apart" alone is an action on a whole group.
  const thumbs = (host, ...given) => window.SB.thumbs({ trigger: (name, { index, value }) => host.trigger(name, { index, value: `say ${value}` }) }, ...given);
  const groups = (count) => (count === 1 ? t`${count} group` : t`${grouped(count)} groups`);
  const removed = (count) => (count === 1 ? t`${count} text removed` : t`${grouped(count)} texts removed`);
  const RESTS = 200, PATIENCE = 10000;  // milliseconds
  let made = 0;

  views.alike = (root, host) => {
    // Send one threshold at a time, once the slider rests: several at once may reach the server in another order.
    let wanted = null, asked = null, drawn = null, resting = 0, patience = 0;
    function ask() {
      if (asked !== null && Date.now() < patience) { resting = setTimeout(ask, RESTS); return; }
      asked = null;
      if (wanted === null || wanted === drawn) { wanted = null; return; }
      asked = wanted;
      patience = Date.now() + PATIENCE;
      select(host, "threshold", asked);
    }

    // Counts at the threshold; while the slider moves, upper bounds. The groups are drawn once it rests.
    const counted = (value, at) => {
      const [step, most] = value.steps[at];
      if (Math.abs(step - value.threshold) > 1e-6) return t`${number(step, 3)}: up to ${removed(most)}`;
      return t`${number(step, 3)}: ${groups(value.found)}, ${removed(value.goes)}, ${grouped(value.stays)} kept`;
    };

    const threshold = (value) => {
      const at = value.steps.reduce((best, step, place) => (Math.abs(step[0] - value.threshold) < Math.abs(value.steps[best][0] - value.threshold) ? place : best), 0);
      const words = el("output", { class: "sb-alike-count", "aria-live": "polite" }, counted(value, at));
      const slider = el("input", { type: "range", min: 0, max: value.steps.length - 1, step: 1, "aria-label": "Similarity threshold",
        "aria-valuetext": counted(value, at), on: {
          input: () => { words.textContent = counted(value, Number(slider.value)); slider.setAttribute("aria-valuetext", words.textContent); },
          change: () => {
            const to = value.steps[Number(slider.value)][0];
            window.SB.place({ tab: "search", view: "near", alike: to.toFixed(3) }, "alike");
            wanted = to;
            if (asked === null) patience = Date.now() + PATIENCE;
            clearTimeout(resting);
            resting = setTimeout(ask, RESTS);
          },
        } });
      slider.value = at;
      return el("label", { class: "sb-alike-threshold" }, el("span", { class: "sb-label" }, "Similarity threshold"), slider, words);
    };

    const member = (one, group, name) => el("li", { class: one.kept ? "sb-stays" : "sb-goes" },
      el("label", {},
        el("input", { type: "radio", name, checked: one.kept && !group.all, "aria-label": t`Keep row ${one.line}`, on: { change: () => select(host, "keep", one.row) } }),
        el("span", { class: "sb-text", translate: "no" }, one.text)),
      el("span", { class: "sb-alike-facts sb-dim" }, one.value ? el("span", { class: group.contradicts ? "sb-badge sb-warn" : "sb-badge", translate: "no" }, one.value) : null,
        el("span", {}, t`row ${one.line}`), el("span", {}, one.kept ? "kept" : number(one.score, 3)), one.row === group.first.row ? null : thumbs(host, one.row, group.first.text, one.text)));

    const card = (group) => {
      const name = `sb-alike-${made++}`;
      return el("li", { class: "sb-alike-group" + (group.contradicts ? " sb-differs" : "") },
        el("div", { class: "sb-alike-head" }, el("strong", {}, t`${group.size} similar texts`),
          group.contradicts ? el("span", { class: "sb-badge sb-warn" }, "different categories") : null,
          el("button", { type: "button", class: "sb-small-button", "aria-pressed": group.all ? "true" : "false",
            on: { click: () => select(host, "apart", group.members[0].row) } }, group.all ? "Keep one" : "Keep all")),
        el("ul", {}, group.members.map((one) => member(one, group, name))),
        group.rest ? el("p", { class: "sb-dim" }, t`and ${grouped(group.rest)} more`) : null);
    };

    return (value) => {
      // Do not draw the answer for a threshold that the slider has left already.
      const answers = (step) => step !== null && Math.abs(value.threshold - step) < 1e-6;
      if (answers(asked)) asked = null;
      if (wanted !== null && !value.empty && !answers(wanted) && Date.now() < patience) return undefined;
      if (answers(wanted)) wanted = null;
      drawn = value.empty ? null : value.steps.find(([step]) => answers(step))?.[0] ?? null;
      if (value.empty) return root.replaceChildren(el("div", { class: "sb-empty" }, value.empty));
      const focus = root.contains(document.activeElement) && document.activeElement.type === "range";
      root.replaceChildren(
        el("p", { class: "sb-caption" }, value.caption),
        threshold(value),
        ...(value.groups.length ? [] : [el("p", { class: "sb-verdict" }, ...sentences(["No near-duplicates at this threshold.",
          value.closest === null ? t`No pair reaches ${number(value.steps[0][0], 3)}.` : t`The most similar pair reaches ${number(value.closest, 3)}: lower the threshold to see it.`]))]),
        ...(value.differing ? [el("p", { class: "sb-note" }, t`Different “${value.column}” in ${groups(value.differing)}: review these first.`)] : []),
        el("ul", { class: "sb-alike" }, value.groups.map(card)),
        ...(value.rest ? [el("button", { type: "button", class: "sb-small-button", on: { click: () => select(host, "more", 0) } }, t`Show more (${grouped(value.rest)} left)`)] : []),
        ...(value.note ? [el("p", { class: "sb-note" }, value.note)] : []));
      if (focus) root.querySelector("input[type=range]").focus();
    };
  };
})();

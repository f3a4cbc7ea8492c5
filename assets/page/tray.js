// The tray in the header: what is under way, how far it is, and Stop; the browser's own tab tells of it as well.
(() => {
  "use strict";
  const { views, el, svg, duration, theirs, t } = window.SB;
  const POLL = 1000 * (window.SB_PAGE?.poll ?? 1), IDLE = 30 * POLL, SEEN = 4 * POLL, KEPT = 10 * 60000, MOST = 8, EDGE = 14;
  const SIGNS = { finished: "✓", stopped: "■", failed: "!", interrupted: "!", asks: "?" };
  const live = (entry) => entry.status === "running" || entry.status === "queued";
  let stirred = () => {};

  // Called where something may have begun: a view that shows work as it goes, a button whose work takes long.
  window.SB.stir = () => stirred();

  views.tray = (root, host) => {
    let given = null, entries = [], timer = null, asking = false, open = false, ended = null;
    const rows = new Map(), stopping = new Set(), when = new Map();
    const count = el("b", {}), bar = el("i"), list = el("ul", {}), none = el("p", { class: "sb-dim" }, "Nothing in progress.");
    const button = el("button", { class: "sb-icon-button sb-tray-button", type: "button", "aria-haspopup": "true", "aria-controls": "tray-list", "aria-expanded": "false",
      on: { click: () => show(!open) } },
      svg("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, svg("path", { d: "M4 13l2.6-8h10.8L20 13v6H4zM4 13h5a3 3 0 0 0 6 0h5", fill: "none", "stroke-linejoin": "round" })), count, bar);
    const panel = el("div", { id: "tray-list", class: "sb-tray-list", role: "region", "aria-label": "In progress", hidden: true }, el("h3", {}, "In progress"), none, list);
    const spoken = el("p", { class: "sb-hidden", role: "status" });
    root.replaceChildren(el("div", { class: "sb-tray" }, button, panel, spoken));

    function show(on) {
      open = on;
      panel.hidden = !on;
      button.setAttribute("aria-expanded", String(on));
      place();
      if (on) look();
    }
    // It hangs below its button, and is moved as far as it takes to be seen whole: on a phone the button may stand anywhere.
    function place() {
      panel.style.transform = "";
      const box = panel.getBoundingClientRect();
      const by = box.left < EDGE ? EDGE - box.left : Math.min(0, document.documentElement.clientWidth - EDGE - box.right);
      if (open && by) panel.style.transform = `translateX(${by}px)`;
    }
    window.addEventListener("resize", () => { if (open) place(); });
    document.addEventListener("click", (event) => { if (open && !root.contains(event.target)) show(false); });
    document.addEventListener("keydown", (event) => { if (open && event.key === "Escape") { show(false); button.focus(); } });

    // One row an entry, kept while it is there: a button that is drawn anew between press and release hears no click.
    function row(id) {
      const title = el("button", { type: "button", class: "sb-tray-title" }), phase = el("p", { class: "sb-dim" }), more = el("p", { class: "sb-dim sb-tray-more" });
      const done = el("i"), progress = el("div", { class: "sb-progress", role: "progressbar", "aria-valuemin": 0, "aria-valuemax": 100 }, done);
      const stop = el("button", { type: "button", class: "sb-small-button", on: { click: () => {
        stopping.add(id);
        draw();
        window.SB.halt(`${tab}-cancel`);
        ask("tray_stop", { id });
      } } });
      const badge = el("span", { class: "sb-badge" });
      const node = el("li", {}, el("div", { class: "sb-tray-head" }, title, stop, badge), phase, progress, more);
      const found = { node, fill };
      let tab = "";
      title.addEventListener("click", () => { document.getElementById(`tab-${tab}-button`)?.click(); show(false); });
      function fill(entry) {
        const goes = live(entry), ends = stopping.has(id) || entry.stopping;
        tab = entry.tab;
        theirs(node, entry.theirs);
        title.textContent = entry.title;
        title.disabled = !tab;
        phase.textContent = !goes ? "" : ends ? "Stopping after the current step…" : entry.phase;
        phase.hidden = !goes;
        progress.hidden = !goes;
        progress.classList.toggle("sb-unknown", entry.share === null);
        progress.setAttribute("aria-label", entry.title);
        if (entry.share === null) progress.removeAttribute("aria-valuenow");
        else progress.setAttribute("aria-valuenow", Math.round(entry.share * 100));
        done.style.width = entry.share === null ? "" : `${entry.share * 100}%`;
        const told = [goes && entry.rate, goes && !ends && entry.left !== null && t`${duration(entry.left)} left`, !goes && entry.seconds >= 1 && duration(entry.seconds)].filter(Boolean);
        more.textContent = told.join(" · ");
        more.hidden = !told.length;
        stop.hidden = !goes;
        stop.disabled = ends;
        stop.textContent = ends ? "Stopping…" : "Stop";
        stop.setAttribute("aria-label", t`Stop: ${entry.title}`);
        badge.hidden = goes;
        badge.className = `sb-badge sb-${entry.status}`;
        badge.textContent = entry.status === "finished" ? "done" : entry.phase;
      }
      return found;
    }

    function draw() {
      const going = entries.filter(live), shown = [...going, ...entries.filter((entry) => !live(entry)).reverse()].slice(0, MOST);
      for (const [id, { node }] of rows) if (!shown.some((entry) => entry.id === id)) { node.remove(); rows.delete(id); }
      shown.forEach((entry, place) => {
        if (!rows.has(entry.id)) rows.set(entry.id, row(entry.id));
        rows.get(entry.id).fill(entry);
        if (list.children[place] !== rows.get(entry.id).node) list.insertBefore(rows.get(entry.id).node, list.children[place] || null);
      });
      none.hidden = shown.length > 0;
      list.hidden = !shown.length;
      const first = going.find((entry) => entry.share !== null);
      count.textContent = going.length || "";
      bar.style.width = first ? `${first.share * 100}%` : "0";
      button.classList.toggle("sb-live", going.length > 0);
      const words = going.length ? t`${going.length} in progress` : "Nothing in progress";
      button.setAttribute("aria-label", t`Tasks: ${words}`);
      button.title = words;
      title(going, first);
    }

    // The browser's tab: how far it is, then how it ended, until somebody has looked.
    function title(going, first) {
      const words = ended ? `${SIGNS[ended.status] || "✓"} ${ended.status === "finished" ? ended.done : t`${ended.title}: ${ended.phase}`}`
        : first ? t`${Math.floor(first.share * 100)}% ${first.title}` : going.length ? t`… ${going[0].title}` : "";
      const whole = words ? `${words} – ${given.name}` : given.name;
      theirs(document.querySelector("title"), (ended || first || going[0])?.theirs);
      if (document.title !== whole) document.title = whole;
    }
    let seen = null;
    function looked() {
      clearTimeout(seen);
      if (document.hidden) return;
      if (ended) seen = setTimeout(() => { ended = null; draw(); }, SEEN);
      look();
    }
    document.addEventListener("visibilitychange", looked);

    function take(found) {
      const now = Date.now(), before = new Map(entries.map((entry) => [entry.id, entry]));
      const told = new Set(found.map((entry) => entry.id));
      for (const entry of found) {
        if (live(entry)) { when.delete(entry.id); continue; }
        stopping.delete(entry.id);
        if (when.has(entry.id)) continue;
        when.set(entry.id, now);
        ended = entry;
        theirs(spoken, entry.theirs);
        spoken.textContent = entry.status === "finished" ? entry.done : t`${entry.title}: ${entry.phase}`;
        looked();
      }
      // What is over stays for a while, though the server may have forgotten it by now; of what it forgot while it went on, nothing is known.
      const kept = [...before.values()].filter((entry) => !told.has(entry.id) && !live(entry));
      entries = [...kept, ...found].filter((entry) => live(entry) || now - when.get(entry.id) < KEPT);
      for (const id of stopping) if (!told.has(id)) stopping.delete(id);
      draw();
    }

    async function ask(what, more = {}) {
      const known = entries.filter(live).map((entry) => entry.id);
      try {
        const answer = await host.server[what]({ session: given.session, owner: given.owner, known, ...more });
        if (answer && answer.entries) take(answer.entries);
      } catch { /* the server is away; the page says so by itself */ }
    }
    async function look() {
      if (asking || !given || !given.session) return;
      asking = true;
      clearTimeout(timer);
      await ask("tray_look");
      asking = false;
      wait();
    }
    function wait() {
      clearTimeout(timer);
      timer = setTimeout(() => (entries.some(live) || !document.hidden ? look() : wait()), entries.some(live) ? POLL : IDLE);
    }
    // Twice: what has just been asked for may not be written down yet, and quick work is not worth a word.
    stirred = () => { if (!entries.some(live)) for (const later of [300, 1300, 2800]) setTimeout(look, later); };

    return (value) => {
      given = value;
      draw();
      look();
    };
  };
})();

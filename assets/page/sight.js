// What a tab opens with: a part that is empty when it is first seen asks for its result, once for the same data and model.
// It asks only while the page waits for nothing, so that a link, or what the visitor asked for, comes first.
(() => {
  "use strict";
  const { views, select } = window.SB;
  const WAIT = 250;  // milliseconds between looks
  const parts = [];
  // asking: when a result was asked for that has not come yet; asked: the id of its view; overtaken: whether the visitor has asked since.
  let timer = 0, asking = 0, asked = "", overtaken = false;
  let wanted = { at: 0, panel: null };  // when and where the visitor last asked for something, which the page may not have sent yet

  const isSettled = () => document.body.getAttribute("aria-busy") === "false" && window.SB.arrived?.();
  const isSeen = (root) => root.parentElement?.offsetParent || root.closest(".sb-view-sight")?.parentElement?.offsetParent;
  const panel = (node) => node?.closest("[role=tabpanel]") ?? null;
  // What another tab draws in the meantime was asked for by the visitor.
  const isSighting = (root) => asking > 0 && !overtaken && panel(root) === panel(document.getElementById(asked));
  function isEmpty(id) {
    const box = document.getElementById(id), view = box?.querySelector(".sb-view");
    // A map that is drawn keeps its hidden placeholder, and its list may have nothing to show.
    return !view || view.hidden || [...view.querySelectorAll(".sb-empty")].some((one) => !one.closest("[hidden], .sb-map-list, .sb-plot"));
  }

  function look() {
    clearTimeout(timer);
    if (document.hidden) return;
    if (asking) {
      if (!isSettled() || Date.now() - asking < 2 * WAIT) { timer = setTimeout(look, WAIT); return; }
      asking = 0;
    }
    for (const part of parts) {
      if (!part.root.isConnected) continue;
      const view = document.querySelector(`#${part.value.result} .sb-view`), key = window.SB.chosen?.(part.value.by) ?? "";
      const empty = isEmpty(part.value.result);
      // An answer that was late has cleared what was shown, such as that to the choice of data: ask again.
      if (empty && part.shown && part.declined !== key) part.asked = null;
      part.shown = !empty;
      // A first result follows the model, the data and the language; one that the visitor asked for stays.
      if (!empty && !window.SB.isFirst?.(view)) { part.asked = null; continue; }
      if (part.asked !== key) part.asked = null;  // also if the visitor comes back to what was chosen before
      if (part.asked !== null || !isSeen(part.root)) continue;
      const isWanted = Date.now() - wanted.at < 2 * WAIT && wanted.panel === panel(part.root);
      if (isWanted || !isSettled()) { timer = setTimeout(look, WAIT); return; }
      part.asked = key;
      asking = Date.now();
      asked = part.value.result;
      overtaken = false;
      select(part.host, "sight", 0);
      timer = setTimeout(look, WAIT);
      return;
    }
  }
  const soon = () => { clearTimeout(timer); timer = setTimeout(look, WAIT); };

  // Work was stopped: what is seen, and the tab of that work, ask for nothing by themselves, lest the same begins again.
  function decline(tab) {
    const box = tab && document.getElementById(`tab-${tab}`);
    for (const part of parts) if (isSeen(part.root) || box?.contains(part.root)) part.asked = part.declined = window.SB.chosen?.(part.value.by) ?? "";
  }

  views.sight = (root, host) => {
    const part = { root, host, value: {}, asked: null, shown: false, declined: null };
    parts.push(part);
    return (value) => { part.value = value; soon(); };
  };
  // What the visitor asks for in the same place is no first result, even if it comes instead of one.
  const ASKS = "button:not([role=tab], .label-wrap), input[type=radio], .sb-view";
  function overtake(event) {
    const asks = event.type === "click" ? event.target.closest?.(ASKS) : event.key === "Enter" && event.target;
    if (!asks) return;
    wanted = { at: Date.now(), panel: panel(asks) };
    if (wanted.panel === panel(document.getElementById(asked))) overtaken = true;
  }
  for (const kind of ["click", "keydown"]) window.addEventListener(kind, overtake, { capture: true, passive: true });
  // A tab that is opened, an answer, and the page that is seen again.
  for (const kind of ["click", "keyup"]) window.addEventListener(kind, soon, { passive: true });
  document.addEventListener("visibilitychange", soon);
  Object.assign(window.SB, { soon, isSighting, decline });
})();

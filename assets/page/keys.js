// Arrow keys move between tabs, as in any program: Gradio's tabs are buttons that only Tab and Enter reach.
// Tab leads from a chooser to the next control: a list of choices that scrolls would take the focus, and lose it as it closes.
(() => {
  "use strict";
  const STEPS = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 };
  document.addEventListener("keydown", (event) => {
    const list = event.key === "Tab" ? document.getElementById(event.target.getAttribute?.("aria-controls")) : null;
    if (list?.getAttribute("role") === "listbox") list.tabIndex = list.parentElement.tabIndex = -1;
    const tab = event.target.closest?.("[role='tab']");
    if (!tab || event.altKey || event.ctrlKey || event.metaKey) return;
    const all = [...tab.closest("[role='tablist']").querySelectorAll("[role='tab']")].filter((one) => one.offsetParent && !one.disabled);
    const at = all.indexOf(tab);
    const next = event.key === "Home" ? all[0] : event.key === "End" ? all[all.length - 1] : event.key in STEPS ? all[(at + STEPS[event.key] + all.length) % all.length] : null;
    if (!next) return;
    event.preventDefault();
    next.click();
    next.focus();
  });
})();

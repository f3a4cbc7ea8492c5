// Where the browser denies storage (cookies are blocked, or the page is framed by another site), even a look at localStorage
// throws, and Gradio's page would never open. What is kept then lasts until the page is closed, which is said once.
(() => {
  "use strict";
  function memory() {
    const kept = new Map();
    return {
      get length() { return kept.size; },
      key: (index) => [...kept.keys()][index] ?? null,
      getItem: (name) => kept.get(String(name)) ?? null,
      setItem: (name, value) => { kept.set(String(name), String(value)); },
      removeItem: (name) => { kept.delete(String(name)); },
      clear: () => { kept.clear(); },
    };
  }
  let denied = false;
  for (const name of ["localStorage", "sessionStorage"]) {
    try {
      window[name].getItem("");
    } catch {
      denied = true;
      Object.defineProperty(window, name, { value: memory(), configurable: true });
    }
  }
  if (!denied) return;

  const SECONDS = 20;
  function tell() {
    const note = document.createElement("div");
    note.className = "sb-banner sb-unremembered";
    note.setAttribute("role", "status");
    const words = document.createElement("p");
    words.textContent = "This browser blocks storage: settings and choices are lost when you close the page.";
    const close = document.createElement("button");
    close.type = "button";
    close.className = "sb-small-button";
    close.textContent = "Close";
    close.addEventListener("click", () => note.remove());
    note.append(words, close);
    document.body.append(note);
    setTimeout(() => note.remove(), SECONDS * 1000);
  }
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", tell, { once: true });
  else tell();
})();

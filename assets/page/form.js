// A form as one component: its value holds the controls and what stands in them (sbert_studio/ui/components.py).
(() => {
  "use strict";
  const { views, el, t } = window.SB;

  const SENDING = 80;  // milliseconds until Gradio sends an edited value with the next click
  const RECENT = 3000; // milliseconds during which an answer that does not know of an edit cannot undo it
  let lastEdit = -Infinity;
  // A button pressed at once after a choice would send the value before it, so the press waits for the value.
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("button");
    const wait = SENDING - (performance.now() - lastEdit);
    if (!button || wait <= 0 || button.closest(".sb-view")) return;
    event.stopImmediatePropagation();
    event.preventDefault();
    setTimeout(() => button.click(), wait);
  }, true);

  // One control: its node, and functions that read and write its value.
  function control(item, id, edit) {
    const name = el("span", { class: "sb-field-name", "data-testid": "block-info" }, item.label);
    const info = item.info ? el("span", { class: "sb-field-info" }, item.info) : null;
    const field = (...parts) => el("div", { class: `sb-field sb-field-${item.kind}`, id }, ...parts);
    if (item.kind === "checkbox") {
      const box = el("input", { type: "checkbox", on: { change: edit } });
      return { node: field(el("label", {}, box, name), info), read: () => box.checked, write: (value) => { box.checked = Boolean(value); } };
    }
    if (item.kind === "radio") {
      const boxes = item.choices.map(([label, value]) => ({ value, label, box: el("input", { type: "radio", name: id, on: { change: edit } }) }));
      const choices = boxes.map(({ label, box }) => el("label", {}, box, el("span", {}, label)));
      return {
        node: field(el("fieldset", {}, el("legend", {}, name), info, el("div", { class: "sb-field-choices" }, ...choices))),
        read: () => boxes.find(({ box }) => box.checked)?.value ?? null,
        write: (value) => boxes.forEach((one) => { one.box.checked = one.value === value; }),
      };
    }
    if (item.kind === "choice") {
      const select = el("select", { on: { change: edit } });
      let values = [];
      const offer = (choices) => {
        values = choices.map(([, value]) => value);
        select.replaceChildren(...choices.map(([label], place) => el("option", { value: place }, label)));
      };
      offer(item.choices);
      return {
        node: field(el("label", {}, name, info, select)), offer,
        inform: (text) => { if (info) info.textContent = text; },
        read: () => values[select.selectedIndex] ?? null,
        write: (value) => { select.selectedIndex = values.indexOf(value); },
      };
    }
    if (item.kind === "slider") {
      const bounds = { min: item.min, max: item.max, step: item.step };
      const number = el("input", { type: "number", ...bounds, "aria-label": t`${item.label}: number` }), range = el("input", { type: "range", ...bounds });
      number.addEventListener("input", () => { range.value = number.value; edit(); });
      range.addEventListener("input", () => { number.value = range.value; edit(); });
      return {
        node: field(el("label", {}, el("span", { class: "sb-field-head" }, name, number), info, range)),
        read: () => (number.value === "" ? null : Number(number.value)),
        write: (value) => { number.value = range.value = value; },
      };
    }
    const box = el("input", { type: "text", placeholder: item.placeholder, on: { input: edit } });
    return { node: field(el("label", {}, name, info, box)), read: () => box.value, write: (value) => { box.value = value ?? ""; } };
  }

  // It remembers whether it was open.
  function accordion(id, title, children) {
    const wasOpen = window.SB.wasOpen(id);
    const body = el("div", { class: "sb-fold-body", hidden: !wasOpen }, ...children);
    const button = el("button", { type: "button", "aria-expanded": String(wasOpen), on: { click: () => {
      body.hidden = !body.hidden;
      button.setAttribute("aria-expanded", String(!body.hidden));
      window.SB.setOpen(id, !body.hidden);
    } } }, el("span", {}, title), el("i", { "aria-hidden": "true" }));
    return el("div", { class: "sb-fold", id }, button, body);
  }

  views.fields = (root, host) => {
    const controls = new Map(), groups = new Map(), edited = new Map(), times = new Map();
    let value = null, revision = 0;

    const values = () => ({ ...value.values, ...Object.fromEntries([...controls].map(([name, one]) => [name, one.read()])) });
    function edit(name) {
      edited.set(name, ++revision);
      times.set(name, lastEdit = performance.now());
      host.props.value = value = { ...value, values: values(), revision };
      host.trigger("input");
    }
    function build(items) {
      return items.map((item) => {
        const id = item.name ? `${value.prefix}-${item.name}` : null;
        if (item.kind !== "group") {
          const one = control(item, id, () => edit(item.name));
          controls.set(item.name, one);
          return one.node;
        }
        const node = item.title ? accordion(id, item.title, build(item.items)) : el("div", { class: item.row ? "sb-fields sb-fields-row" : "sb-fields" }, ...build(item.items));
        if (item.name) groups.set(item.name, node);
        return node;
      });
    }
    function refresh(items) {
      for (const item of items) {
        if (item.kind === "group") {
          if (item.name) groups.get(item.name).hidden = !item.visible;
          refresh(item.items);
        } else if (item.kind === "choice") {
          controls.get(item.name).offer(item.choices);
          controls.get(item.name).inform(item.info);
        }
      }
    }
    return (next) => {
      if (next === value) return;
      const current = value === null ? {} : values(), first = value === null;
      value = next;
      if (first) root.replaceChildren(el("div", { class: "sb-form" }, ...build(next.items)));
      refresh(next.items);
      // An answer to an earlier edit does not undo a later one.
      const answered = next.revision ?? Infinity;
      const isTyping = (name, one) => next.revision === undefined
        && (performance.now() - times.get(name) < RECENT || (times.has(name) && one.node.contains(document.activeElement)));
      let stays = false;
      for (const [name, one] of controls) {
        const is_later = (edited.get(name) ?? 0) > answered || (!first && isTyping(name, one));
        stays ||= is_later;
        one.write(is_later ? current[name] : next.values[name]);
      }
      if (!stays) return;
      host.props.value = value = { ...next, values: values(), revision };
      // The rest of the page was made without the edit.
      if (next.revision === undefined) host.trigger("input");
    };
  };
})();

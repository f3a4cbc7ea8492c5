// The colours of the points by one column, and the entries of the legend, which describe exactly these colours.
// paint: {by, kind, index: Uint16Array (n): a place in the palette for each row, palette() → [[r, g, b], …] in the page's light or dark,
//         faint: Set of places in the palette that recede (outliers, blanks, other values),
//         entries: [{id, label, at: place in the palette, own: a word of the page's, note?}], has(id, row), sizes(hidden) → [count of each entry],
//         scale?: so many places of the palette are a scale from low to high, axis?: {low, high, under, over: numbers of values beyond its ends, ticks}, note?}
(() => {
  "use strict";
  const { mapping, t, grouped } = window.SB;
  const { BLANK, OTHER } = mapping;
  const SHADES = 64, TAIL = 0.01, FAR = 3;

  const visible = (hidden) => (row) => !hidden[row];

  function byClusters(name, ids, names) {
    const at = new Map(names.map((one, place) => [one.id, place])), index = Uint16Array.from(ids, (id) => at.get(id) ?? 0);
    return { by: name, kind: "clusters", index, palette: () => names.map(mapping.rgb), faint: new Set(names.flatMap((one, place) => (one.id < 0 ? [place] : []))),
      entries: names.map((one, place) => ({ ...one, ...(one.id < 0 ? { label: t`outliers` } : {}), at: place, own: one.id < 0 })), has: (id, row) => ids[row] === id,
      sizes: (hidden) => { const sizes = new Uint32Array(names.length); for (let row = 0; row < index.length; row += 1) if (!hidden[row]) sizes[index[row]] += 1; return [...sizes]; } };
  }

  // Where a few values lie far from all others, the scale ends before them, and says so: otherwise all others have one colour.
  function limits(numbers) {
    const sorted = Float64Array.from(numbers.filter((value) => !Number.isNaN(value))).sort(), at = (share) => sorted[Math.round(share * (sorted.length - 1))];
    const [low, high, near, far] = [sorted[0], sorted[sorted.length - 1], at(TAIL), at(1 - TAIL)];
    return [near - low > FAR * (far - near) && far > near ? near : low, high - far > FAR * (far - near) && far > near ? far : high];
  }

  function byNumbers(found) {
    const { numbers } = found, [low, high] = limits(numbers), index = new Uint16Array(found.n);
    const share = (value) => (high > low ? (value / 2 - low / 2) / (high / 2 - low / 2) : 0.5);  // high - low may overflow
    let [blank, under, over] = [0, 0, 0];
    for (let row = 0; row < found.n; row += 1) {
      const value = numbers[row];
      if (Number.isNaN(value)) { index[row] = SHADES; blank += 1; continue; }
      if (value < low) under += 1; else if (value > high) over += 1;
      index[row] = Math.max(0, Math.min(SHADES - 1, Math.floor(share(value) * SHADES)));
    }
    const entries = blank ? [{ id: BLANK, label: found.unreadable ? "blank or unreadable" : "blank", at: SHADES, own: true }] : [];
    return { by: found.name, kind: found.kind, index, faint: new Set([SHADES]), entries,
      palette: () => [...Array.from({ length: SHADES }, (_, i) => mapping.shade((i + 0.5) / SHADES)), mapping.grey()],
      has: (id, row) => index[row] === SHADES,
      sizes: (hidden) => entries.map(() => { let count = 0; for (let row = 0; row < found.n; row += 1) if (index[row] === SHADES && !hidden[row]) count += 1; return count; }),
      scale: SHADES, axis: { low, high, under, over, text: (value) => mapping.write(found, value), ticks: mapping.ticks(found.kind, low, high).map((one) => ({ text: found.unit ? mapping.write(found, one.value) : one.text, share: share(one.value) })) } };
  }

  // The largest have colours; all others are one group, as are blank cells. Of several items, the first of those with a colour counts.
  function byCategories(found) {
    const most = Math.min(found.labels.length, mapping.categories().length), index = new Uint16Array(found.n), [other, blank] = [most, most + 1];
    let [others, blanks] = [0, 0];
    for (let row = 0; row < found.n; row += 1) {
      let at = null, filled = false;
      mapping.each(found, row, (code) => { if (code !== BLANK) filled = true; if (at === null && code >= 0 && code < most) at = code; });
      index[row] = at ?? (filled ? other : blank);
      if (at === null && filled) others += 1; else if (!filled) blanks += 1;
    }
    const entries = found.labels.slice(0, most).map((label, id) => ({ id, label, at: id, own: false }));
    const left = found.distinct - most;
    if (others) entries.push({ id: OTHER, label: left > 1 ? t`other (${grouped(left)} values)` : t`other`, at: other, own: true });
    if (blanks) entries.push({ id: BLANK, label: found.blank || t`blank`, at: blank, own: true });
    const has = (id, row) => {
      if (id < 0) return index[row] === (id === OTHER ? other : blank);
      let held = false;
      mapping.each(found, row, (code) => { held = held || code === id; });
      return held;
    };
    return { by: found.name, kind: found.kind, index, faint: new Set([other, blank]), entries, has,
      palette: () => [...mapping.categories().slice(0, most), mapping.bytes(window.SB.token("--sb-dim")), mapping.grey()],
      sizes: (hidden) => {
        const sizes = mapping.tally(found, visible(hidden)), at = new Uint32Array(most + 2);
        for (let row = 0; row < found.n; row += 1) if (!hidden[row]) at[index[row]] += 1;
        return entries.map((one) => (one.id >= 0 ? sizes.of(one.id) : at[one.at]));
      },
      note: found.kind === "list" ? "A text has the color of its first item in this list, and is counted for each of its items." : null };
  }

  mapping.paint = (found) => (found.numbers ? byNumbers(found) : byCategories(found));
  mapping.paintClusters = byClusters;
})();

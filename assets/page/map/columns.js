// Columns of the table, as the page counts and filters them: what Python sends (see map_value.py) is decoded once.
// column: {name, kind: number | date | category | boolean | list, n, numbers?: Float64Array, codes?: Int32Array,
//          items?, starts?: Int32Array, labels?: [label], distinct?, unit?, unreadable}; dates are days since 1970-01-01, UTC.
(() => {
  "use strict";
  const { mapping, t } = window.SB;
  const BLANK = -1, OTHER = -2, DAY = 86400000, BINS = 28, MOST_PERIODS = 60, PIECE = 8192;

  // Base64 as an array; what was fetched as an array already is one.
  function decode(text, Kind) {
    if (ArrayBuffer.isView(text)) return text;
    const raw = atob(text || ""), bytes = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i += 1) bytes[i] = raw.charCodeAt(i);
    return new Kind(bytes.buffer);
  }

  // Rows as base64 of a bit for each of n rows: 125 kB for any choice among a million.
  function bits(rows, n) {
    const bytes = new Uint8Array(Math.ceil(n / 8)), parts = [];
    for (const row of rows) bytes[row >> 3] |= 1 << (row & 7);
    for (let at = 0; at < bytes.length; at += PIECE) parts.push(String.fromCharCode(...bytes.subarray(at, at + PIECE)));
    return btoa(parts.join(""));
  }

  function column(data) {
    const made = { ...data };
    if (data.numbers !== undefined) made.numbers = decode(data.numbers, Float64Array);
    for (const name of ["codes", "items", "starts"]) if (data[name] !== undefined) made[name] = decode(data[name], Int32Array);
    return made;
  }
  // Topics are a column like any other: their ids change with the visitor's edits.
  function clusterColumn(name, ids, names) {
    const real = names.filter((one) => one.id >= 0), at = new Map(real.map((one, code) => [one.id, code]));
    return { name, kind: "category", n: ids.length, codes: Int32Array.from(ids, (id) => at.get(id) ?? BLANK), labels: real.map((one) => one.label), distinct: real.length, blank: t`outliers` };
  }

  // Call ``act(code)`` for each category or item of a row; of a blank one, and of a row without items, with BLANK.
  function each(found, row, act) {
    if (found.codes) { act(found.codes[row]); return; }
    const [from, to] = [found.starts[row], found.starts[row + 1]];
    if (from === to) act(BLANK);
    for (let i = from; i < to; i += 1) act(found.items[i]);
  }
  // The number of rows of each label that ``counts(row)`` accepts, and of BLANK and OTHER.
  function tally(found, counts) {
    const sizes = new Uint32Array(found.labels.length + 2);
    for (let row = 0; row < found.n; row += 1) if (counts(row)) each(found, row, (code) => { sizes[code >= 0 ? code : sizes.length + code] += 1; });
    return { of: (code) => sizes[code >= 0 ? code : sizes.length + code] };
  }

  function span(numbers) {
    let [low, high, whole] = [Infinity, -Infinity, true];
    for (const value of numbers) {
      if (Number.isNaN(value)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
      if (whole && !Number.isInteger(value)) whole = false;
    }
    return { low, high, whole };
  }
  // A step of 1, 2 or 5 times a power of ten, so that ``parts`` of them or fewer cover the width.
  function niceStep(width, parts) {
    const rough = width / parts || 1, power = 10 ** Math.floor(Math.log10(rough));
    return [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough * (1 - 1e-9));
  }
  const rounded = (value) => Number(value.toPrecision(15));

  // Bins of equal width with round edges; whole numbers have bins of whole widths, dates have calendar periods. ``range`` is from the lowest to the highest value in
  // some bins, both inclusive, so that a filter by it keeps exactly the rows that their bars count, also where values lie on an edge.
  function bins(found) {
    if (found.kind === "date") return calendar(span(found.numbers));
    const { low, high, whole } = span(found.numbers), step = Math.max(whole ? 1 : 0, niceStep(high / BINS - low / BINS, 1));  // high - low may overflow
    const begin = Math.floor(low / step + 1e-9) * step, start = whole ? begin : rounded(begin);
    const place = (value) => { const apart = value - start; return Math.max(0, Math.floor((Number.isFinite(apart) ? apart / step : value / step - start / step) + 1e-9)); };
    const count = place(high) + 1, edge = (bin) => (whole ? start + bin * step : rounded(start + bin * step));
    const [lows, highs] = [new Float64Array(count).fill(Infinity), new Float64Array(count).fill(-Infinity)];
    for (const value of found.numbers) {
      if (Number.isNaN(value)) continue;
      const bin = place(value);
      if (value < lows[bin]) lows[bin] = value;
      if (value > highs[bin]) highs[bin] = value;
    }
    const isPlain = whole && Math.max(Math.abs(low), Math.abs(high)) < Number.MAX_SAFE_INTEGER / 2;
    function range(from, to) {
      if (isPlain) return [edge(from), edge(to + 1) - 1];
      let [least, most] = [Infinity, -Infinity];
      for (let bin = from; bin <= to; bin += 1) { least = Math.min(least, lows[bin]); most = Math.max(most, highs[bin]); }
      return least <= most ? [least, most] : [edge(from) + step / 2, edge(from) + step / 2];  // between the edges, where no value is
    }
    return { start, step, count, low, high, whole, edge, of: place, range, ends: (bin) => (isPlain ? range(bin, bin) : [edge(bin), edge(bin + 1)]) };
  }
  function calendar({ low, high }) {
    const all = periods(low, high, periodOf(low, high, MOST_PERIODS)), bins = new Uint16Array(high - low + 1);
    all.forEach((one, bin) => bins.fill(bin, Math.max(0, one.from - low), one.to - low + 1));
    const range = (from, to) => [all[from].from, all[to].to];
    return { count: all.length, low, high, of: (day) => bins[day - low], range, ends: (bin) => range(bin, bin) };
  }
  function histogram(found, kept, counts) {
    const sizes = new Uint32Array(kept.count);
    for (let row = 0; row < found.n; row += 1) if (!Number.isNaN(found.numbers[row]) && counts(row)) sizes[kept.of(found.numbers[row])] += 1;
    return sizes;
  }

  const iso = (days) => new Date(days * DAY).toISOString().slice(0, 10);
  const days = (text) => Math.round(Date.parse(`${text}T00:00:00Z`) / DAY);
  function short(value) {
    if (Math.abs(value) >= 1e15) return value.toExponential().replace(/(\.\d{5})\d+/, "$1").replace("e+", "e");
    if (Math.abs(value) >= 100000) return value.toLocaleString("en-US", { notation: "compact", maximumSignificantDigits: 6 });
    return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(6)));
  }
  // unit: how a number is written, such as "${}" or "{} kg".
  const measured = (unit, value) => (value < 0 ? "-" : "") + unit.split("{}").join(short(Math.abs(value)));
  const write = (found, value) => (found.kind === "date" ? iso(value) : found.unit ? measured(found.unit, value) : short(value));

  // Calendar periods from that of the first day to that of the last: [{name, from, to}], both days inclusive.
  const PERIODS = { day: 1, week: 7, month: 30.4, year: 365.25 };
  function periods(low, high, period) {
    const made = [], first = new Date(low * DAY);
    const begin = { day: () => low, week: () => low - ((((low + 3) % 7) + 7) % 7), month: () => Date.UTC(first.getUTCFullYear(), first.getUTCMonth(), 1) / DAY, year: () => Date.UTC(first.getUTCFullYear(), 0, 1) / DAY }[period];
    for (let from = begin(); from <= high;) {
      const date = new Date(from * DAY), [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
      const next = { day: from + 1, week: from + 7, month: Date.UTC(year, month + 1, 1) / DAY, year: Date.UTC(year + 1, 0, 1) / DAY }[period];
      made.push({ name: period === "year" ? iso(from).slice(0, 4) : period === "month" ? iso(from).slice(0, 7) : iso(from), from, to: next - 1 });
      from = next;
    }
    return made;
  }
  // The shortest period of which at most ``most`` lie between two days.
  const periodOf = (low, high, most) => Object.keys(PERIODS).find((name) => (high - low + 1) / PERIODS[name] <= most) || "year";

  // Ticks between two values: [{value, text}].
  function ticks(kind, low, high, parts = 4) {
    if (high <= low) return [{ value: low, text: kind === "date" ? iso(low) : short(low) }];
    if (kind === "date") {
      const all = periods(low, high, periodOf(low, high, 40)).filter((one) => one.from >= low), apart = Math.ceil(all.length / parts);
      return all.filter((_, i) => i % apart === 0).map((one) => ({ value: one.from, text: one.name }));
    }
    const step = niceStep(high / parts - low / parts, 1), made = [];  // high - low may overflow
    for (let value = Math.ceil(low / step - 1e-9) * step; value <= high + step * 1e-9; value += step) made.push({ value: rounded(value), text: short(rounded(value)) });
    return made;
  }

  Object.assign(mapping, { column, clusterColumn, each, tally, span, bins, histogram, periods, periodOf, MOST_PERIODS, ticks, write, iso, days, decode, bits, BLANK, OTHER });
})();

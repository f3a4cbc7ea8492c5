// Tables as files for spreadsheets, made in the browser: CSV, XLSX, and what the clipboard takes. Every cell is whole, and none is a live formula.
(() => {
  "use strict";
  const NUMBER = /^\s*[+-]?(\d+([.,]\d+)*|\.\d+)([eE][+-]?\d+)?\s*$/, LIVE = /^\s*[=+\-@＝＋－＠]/;
  const EXACT = /^(?!-0(\.0+)?$)-?(0|[1-9]\d{0,14})(\.\d{1,15})?$/, CODE = /^(0\d+|\d{16,})$/;  // loses no digit as a number; digits that are no number
  const LONG = 1e11;  // spreadsheets show whole numbers from here on as 1E+11, unless their format says otherwise
  const LONGEST = 32767;  // characters of a cell
  const whole = (cell) => (cell === null || cell === undefined ? "" : Array.isArray(cell) ? cell.join(typeof cell[0] === "string" ? "" : " ") : String(cell));
  const safe = (text) => (LIVE.test(text) && !NUMBER.test(text) ? `'${text}` : text);
  const quoted = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

  // Without the byte-order mark, Excel garbles all letters that are not ASCII.
  const csv = (names, rows) => "\ufeff" + [names, ...rows].map((row) => row.map((cell) => quoted(safe(whole(cell)))).join(",")).join("\r\n") + "\r\n";
  const lines = (names, rows) => [names, ...rows].map((row) => row.map((cell) => safe(whole(cell)).replace(/[\t\r\n]+/g, " ")).join("\t")).join("\n");

  const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => { let sum = byte; for (let bit = 0; bit < 8; bit += 1) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1; return sum; });
  function crc32(bytes) {
    let sum = 0xffffffff;
    for (const byte of bytes) sum = TABLE[(sum ^ byte) & 255] ^ (sum >>> 8);
    return (sum ^ 0xffffffff) >>> 0;
  }
  // A zip archive of files that are not compressed: {name: text} → bytes (PKWARE APPNOTE 4.3).
  function zip(files) {
    const parts = [], directory = [], encoder = new TextEncoder();
    let at = 0;
    for (const [name, text] of Object.entries(files)) {
      const title = encoder.encode(name), body = encoder.encode(text), fields = new DataView(new ArrayBuffer(26)), entry = new DataView(new ArrayBuffer(46));
      [[0, 20], [2, 0x800], [4, 0], [6, 0], [8, 0x21]].forEach(([place, value]) => fields.setUint16(place, value, true));  // version, UTF-8 names, stored, 1980-01-01
      [[10, crc32(body)], [14, body.length], [18, body.length]].forEach(([place, value]) => fields.setUint32(place, value, true));
      fields.setUint16(22, title.length, true);
      const shared = new Uint8Array(fields.buffer);
      parts.push(Uint8Array.of(0x50, 0x4b, 3, 4), shared, title, body);
      entry.setUint32(0, 0x02014b50, true);
      entry.setUint16(4, 20, true);
      new Uint8Array(entry.buffer).set(shared, 6);
      entry.setUint32(42, at, true);
      directory.push(new Uint8Array(entry.buffer), title);
      at += 30 + title.length + body.length;
    }
    const size = directory.reduce((sum, part) => sum + part.length, 0), end = new DataView(new ArrayBuffer(22)), count = Object.keys(files).length;
    end.setUint32(0, 0x06054b50, true);
    end.setUint16(8, count, true); end.setUint16(10, count, true);
    end.setUint32(12, size, true); end.setUint32(16, at, true);
    return new Blob([...parts, ...directory, end.buffer]);
  }

  const escaped = (text) => text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "").slice(0, LONGEST).replace(/[&<>]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" }[sign]));
  // A workbook of one sheet. Texts are inline strings, which are never formulas; those that would become one when edited have a quote prefix.
  function xlsx(names, rows) {
    const codes = names.map((_, at) => rows.some((row) => typeof row[at] === "string" && CODE.test(row[at])));  // where some cells are codes, all are
    const formats = [];  // so many decimals are shown, also where the last are zeros
    const style = (text) => {
      const decimals = text.endsWith("0") && /\.(\d+)$/.exec(text)?.[1].length;
      if (!decimals) return Math.abs(text) >= LONG && Number.isInteger(Number(text)) ? ' s="2"' : "";
      if (!formats.includes(decimals)) formats.push(decimals);
      return ` s="${3 + formats.indexOf(decimals)}"`;
    };
    const cell = (value, at) => {
      const text = whole(value);
      if (!text) return "<c/>";
      if (typeof value === "number" ? Number.isFinite(value) : !codes[at] && EXACT.test(text)) return `<c${style(text)}><v>${text}</v></c>`;
      return `<c t="inlineStr"${safe(text) === text ? "" : ' s="1"'}><is><t xml:space="preserve">${escaped(text)}</t></is></c>`;
    };
    const head = names.map((name) => `<c t="inlineStr"><is><t xml:space="preserve">${escaped(whole(name))}</t></is></c>`).join("");
    const body = rows.map((row) => `<row>${row.map(cell).join("")}</row>`).join(""), spreadsheet = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    const relations = "http://schemas.openxmlformats.org/package/2006/relationships", office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    const type = "application/vnd.openxmlformats-officedocument.spreadsheetml", xml = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>';
    return zip({
      "[Content_Types].xml": `${xml}<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="${type}.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="${type}.worksheet+xml"/><Override PartName="/xl/styles.xml" ContentType="${type}.styles+xml"/></Types>`,
      "_rels/.rels": `${xml}<Relationships xmlns="${relations}"><Relationship Id="rId1" Type="${office}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
      "xl/workbook.xml": `${xml}<workbook xmlns="${spreadsheet}" xmlns:r="${office}"><sheets><sheet name="Table" sheetId="1" r:id="rId1"/></sheets></workbook>`,
      "xl/_rels/workbook.xml.rels": `${xml}<Relationships xmlns="${relations}"><Relationship Id="rId1" Type="${office}/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Type="${office}/styles" Target="styles.xml"/></Relationships>`,
      "xl/styles.xml": `${xml}<styleSheet xmlns="${spreadsheet}">${formats.length ? `<numFmts count="${formats.length}">${formats.map((decimals, at) => `<numFmt numFmtId="${164 + at}" formatCode="0.${"0".repeat(decimals)}"/>`).join("")}</numFmts>` : ""}<fonts count="1"><font><sz val="11"/><name val="Calibri"/></font></fonts><fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border><left/><right/><top/><bottom/></border></borders><cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs><cellXfs count="${3 + formats.length}"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0" quotePrefix="1"/><xf numFmtId="1" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>${formats.map((_, at) => `<xf numFmtId="${164 + at}" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>`).join("")}</cellXfs><cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>`,
      "xl/worksheets/sheet1.xml": `${xml}<worksheet xmlns="${spreadsheet}"><sheetData><row>${head}</row>${body}</sheetData></worksheet>`,
    });
  }

  window.SB.files = { csv, lines, xlsx };
})();

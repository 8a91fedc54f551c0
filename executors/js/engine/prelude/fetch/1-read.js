// fetch and what belongs to it, for a program whose policy grants a bridge of
// that name: docs/FETCH.md. Each file of this folder is the body of a function of
// hands, what the prelude captured, and of kit, what the files before it made; the
// last one returns fetch. They are compiled into the image, and called for such a
// program alone, before it: without the grant nothing of it exists. From then on the
// rule of the prelude holds: what a program hands in is read once, by captured
// functions, and what of the program runs while it is read holds nothing of ours.
//
// This one reads a program's values, and writes bytes.

const {
  apply, setPrototypeOf, defineProperty, hasOwn, isArray, slice, matches, NewError, NewBytes, Typed, typedName,
  typedBuffer, typedOffset, typedBytes, typedLength, viewBuffer, viewOffset, viewBytes, bufferBytes, method, bare,
  list, arrayProto, makeError, hidden, builtins, prototypes,
} = hands;

const lower = method(String.prototype.toLowerCase), upper = method(String.prototype.toUpperCase);
const codeAt = method(String.prototype.charCodeAt), fromCodes = String.fromCharCode;
const mapHas = method(Map.prototype.has), mapDelete = method(Map.prototype.delete), mapClear = method(Map.prototype.clear);
const sorted = method(Array.prototype.sort), valuesOf = method(Array.prototype.values);
const typedSet = method(Typed.prototype.set), iterator = Symbol.iterator, clock = Date.now;
const typeError = (why) => makeError('TypeError', why);
// A template would call the String.prototype.concat of the program.
const toText = String;
const textOf = (v) => {
  if (typeof v === 'symbol') throw typeError('a symbol is no text');
  return toText(v);
};
const test = (re, text) => { re.lastIndex = 0; return matches(re, text) !== null; };
const own = (v, key) => hasOwn(v, key) ? v[key] : undefined;
const isObject = (v) => typeof v === 'object' && v !== null || typeof v === 'function';
const clipped = (text) => text.length > 200 ? slice(text, 0, 200) + '…' : text;

// A list as a program gets it; the items are own properties before it has a prototype.
const arrayOf = (items) => { setPrototypeOf(items, arrayProto); return items; };
const iterate = (items) => valuesOf(arrayOf(items));

// itemsOf reads whatever can be iterated, or returns null.
const MAX_ITEMS_READ = 10000;
const itemsOf = (v) => {
  const items = list();
  const add = (item) => {
    if (items.length >= MAX_ITEMS_READ) throw typeError('more than ' + MAX_ITEMS_READ + ' items');
    items[items.length] = item;
  };
  if (isArray(v)) {
    const n = v.length;
    for (let i = 0; i < n; i++) add(v[i]);
    return items;
  }
  const start = v[iterator];
  if (start === undefined || start === null) return null;
  const it = apply(start, v, list()), next = it.next;
  for (;;) {
    const step = apply(next, it, list());
    if (!isObject(step)) throw typeError('an iterator gave no object');
    if (step.done) return items;
    add(step.value);
  }
};
// eachPair calls f with the two texts of each item.
const eachPair = (items, f) => {
  for (let i = 0; i < items.length; i++) {
    const pair = isObject(items[i]) ? itemsOf(items[i]) : null;
    if (pair === null || pair.length !== 2) throw typeError('each item has to be a name and a value');
    f(textOf(pair[0]), textOf(pair[1]));
  }
};

// --- UTF-8 -----------------------------------------------------------------

const utf8 = (text) => {
  let n = 0;
  for (let i = 0; i < text.length; i++) {
    const c = codeAt(text, i);
    n += c < 0x80 ? 1 : c < 0x800 ? 2 : 3;
    if (c >= 0xd800 && c < 0xdc00 && i + 1 < text.length) {
      const d = codeAt(text, i + 1);
      if (d >= 0xdc00 && d < 0xe000) { n++; i++; }
    }
  }
  const out = new NewBytes(n);
  for (let i = 0, at = 0; i < text.length; i++) {
    let c = codeAt(text, i);
    if (c < 0x80) { out[at++] = c; continue; }
    if (c >= 0xd800 && c < 0xe000) {
      const d = c < 0xdc00 && i + 1 < text.length ? codeAt(text, i + 1) : 0;
      if (d >= 0xdc00 && d < 0xe000) { c = 0x10000 + ((c - 0xd800) << 10) + (d - 0xdc00); i++; } else c = 0xfffd;
    }
    if (c < 0x800) out[at++] = 0xc0 | c >> 6;
    else {
      if (c < 0x10000) out[at++] = 0xe0 | c >> 12;
      else { out[at++] = 0xf0 | c >> 18; out[at++] = 0x80 | c >> 12 & 63; }
      out[at++] = 0x80 | c >> 6 & 63;
    }
    out[at++] = 0x80 | c & 63;
  }
  return out;
};
// textOfBytes reads UTF-8; where it is none, U+FFFD stands for each longest wrong
// part, or it returns null when that is not wanted.
const textOfBytes = (bytes, fatal) => {
  const n = typedLength(bytes);
  let text = '', chunk = list(), i = 0;
  const put = (unit) => {
    chunk[chunk.length] = unit;
    if (chunk.length >= 1024) { text += apply(fromCodes, undefined, chunk); chunk = list(); }
  };
  while (i < n) {
    const b = bytes[i++];
    if (b < 0x80) { put(b); continue; }
    let more = 0, c = 0, low = 0x80, high = 0xbf;
    if (b >= 0xc2 && b <= 0xdf) { more = 1; c = b & 31; }
    else if (b >= 0xe0 && b <= 0xef) { more = 2; c = b & 15; if (b === 0xe0) low = 0xa0; if (b === 0xed) high = 0x9f; }
    else if (b >= 0xf0 && b <= 0xf4) { more = 3; c = b & 7; if (b === 0xf0) low = 0x90; if (b === 0xf4) high = 0x8f; }
    else if (fatal) return null;
    else { put(0xfffd); continue; }
    for (; more > 0 && i < n && bytes[i] >= low && bytes[i] <= high; more--, low = 0x80, high = 0xbf) c = c << 6 | bytes[i++] & 63;
    if (more > 0) {
      if (fatal) return null;
      put(0xfffd);
    } else if (c < 0x10000) put(c);
    else { c -= 0x10000; put(0xd800 + (c >> 10)); put(0xdc00 + (c & 1023)); }
  }
  return chunk.length === 0 ? text : text + apply(fromCodes, undefined, chunk);
};
const withoutMark = (text) => text.length > 0 && codeAt(text, 0) === 0xfeff ? slice(text, 1) : text;
// viewed is a copy of the bytes of v, or null when it has none.
const viewed = (v) => {
  if (typeof v !== 'object' || v === null) return null;
  let from = null;
  try {
    if (typedName(v) !== undefined) from = new NewBytes(typedBuffer(v), typedOffset(v), typedBytes(v));
  } catch { }
  if (from === null) try { from = new NewBytes(viewBuffer(v), viewOffset(v), viewBytes(v)); } catch { }
  if (from === null) try { bufferBytes(v); from = new NewBytes(v); } catch { }
  if (from === null) return null;
  const out = new NewBytes(typedLength(from));
  typedSet(out, from);
  return out;
};

const give = (key, value) => {
  if (key in globalThis) throw new NewError('taken: ' + key);
  hidden(globalThis, key, value);
  builtins[key] = value;
  if (hasOwn(value, 'prototype')) prototypes[key] = value.prototype;
};
const tagged = (C, name) => defineProperty(C.prototype, Symbol.toStringTag, { value: name, configurable: true });

Object.assign(kit, bare({
  lower, upper, codeAt, fromCodes, mapHas, mapDelete, mapClear, sorted, iterate, arrayOf, itemsOf, eachPair, utf8, textOfBytes,
  withoutMark, viewed, typeError, textOf, test, own, isObject, clipped, give, tagged, clock, iterator,
}));

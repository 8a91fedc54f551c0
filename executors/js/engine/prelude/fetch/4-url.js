// URL and URLSearchParams, as far as http and https need them. The host reads the
// text of a URL once more, whole, and decides on what it reads: nothing here is
// trusted.

const {
  apply, keysOf, quote, parse, slice, indexOf, includes, matches, NewBytes, toNumber, typedBuffer, typedLength, bare,
  list,
} = hands;
const {
  lower, codeAt, fromCodes, sorted, iterate, arrayOf, itemsOf, eachPair, utf8, textOfBytes, typeError, test,
  isObject, clipped, give, tagged, iterator,
  textOf,
} = kit;

const hex = '0123456789ABCDEF';
// escaped writes text in ASCII; keeps says which ASCII characters stand for themselves.
const escaped = (text, keeps, space) => {
  let out = '';
  for (let i = 0; i < text.length; i++) {
    const c = codeAt(text, i);
    if (c === 0x20 && space !== '') { out += space; continue; }
    if (c < 0x80 && keeps(c)) { out += text[i]; continue; }
    let one = text[i];
    if (c >= 0xd800 && c < 0xdc00 && i + 1 < text.length) one = slice(text, i, i + 2);
    const bytes = utf8(one);
    if (typedLength(bytes) === 4) i++;
    else if (one.length === 2) { // half a pair, and something else
      out += '%EF%BF%BD';
      continue;
    }
    for (let k = 0; k < typedLength(bytes); k++) out += '%' + hex[bytes[k] >> 4] + hex[bytes[k] & 15];
  }
  return out;
};
const digit = (c) => c >= 48 && c <= 57 ? c - 48 : c >= 65 && c <= 70 ? c - 55 : c >= 97 && c <= 102 ? c - 87 : -1;
const unescaped = (text) => {
  if (indexOf(text, '%') < 0 && indexOf(text, '+') < 0) return text;
  const from = utf8(text), n = typedLength(from), out = new NewBytes(n);
  let at = 0;
  for (let i = 0; i < n; i++) {
    let b = from[i];
    if (b === 0x2b) b = 0x20;
    else if (b === 0x25 && i + 2 < n && digit(from[i + 1]) >= 0 && digit(from[i + 2]) >= 0) {
      b = digit(from[i + 1]) << 4 | digit(from[i + 2]);
      i += 2;
    }
    out[at++] = b;
  }
  return textOfBytes(new NewBytes(typedBuffer(out), 0, at), false);
};
const split = (text, by) => {
  const out = list();
  for (;;) {
    const end = indexOf(text, by);
    out[out.length] = end < 0 ? text : slice(text, 0, end);
    if (end < 0) return out;
    text = slice(text, end + by.length);
  }
};
const plain = (c) => c >= 48 && c <= 57 || c >= 65 && c <= 90 || c >= 97 && c <= 122 || c === 42 || c === 45 || c === 46 || c === 95;

// --- URLSearchParams ------------------------------------------------------

let params;
class URLSearchParams {
  #names = list(); #values = list(); #changed = null;
  constructor(init = '') {
    if (isObject(init)) {
      const items = itemsOf(init);
      if (items !== null) eachPair(items, (name, value) => { params.add(this, name, value); });
      else {
        const keys = keysOf(init);
        for (let i = 0; i < keys.length; i++) params.add(this, keys[i], textOf(init[keys[i]]));
      }
      return;
    }
    const text = textOf(init);
    params.read(this, text[0] === '?' ? slice(text, 1) : text);
  }
  static {
    const keep = (p, wanted) => {
      const names = list(), values = list();
      for (let i = 0; i < p.#names.length; i++) {
        if (!wanted(p.#names[i], p.#values[i])) continue;
        names[names.length] = p.#names[i];
        values[values.length] = p.#values[i];
      }
      p.#names = names;
      p.#values = values;
    };
    params = bare({
      keep,
      is: (v) => isObject(v) && #names in v,
      add: (p, name, value) => { p.#names[p.#names.length] = name; p.#values[p.#values.length] = value; },
      read: (p, text) => {
        keep(p, () => false);
        const parts = split(text, '&');
        for (let i = 0; i < parts.length; i++) {
          if (parts[i] === '') continue;
          const at = indexOf(parts[i], '=');
          params.add(p, unescaped(at < 0 ? parts[i] : slice(parts[i], 0, at)), at < 0 ? '' : unescaped(slice(parts[i], at + 1)));
        }
      },
      text: (p) => {
        let out = '';
        for (let i = 0; i < p.#names.length; i++) {
          out += (i === 0 ? '' : '&') + escaped(p.#names[i], plain, '+') + '=' + escaped(p.#values[i], plain, '+');
        }
        return out;
      },
      bind: (p, f) => { p.#changed = f; },
      changed: (p) => { if (p.#changed !== null) p.#changed(params.text(p)); },
      pairs: (p) => {
        const out = list();
        for (let i = 0; i < p.#names.length; i++) out[i] = [p.#names[i], p.#values[i]];
        return out;
      },
      copy: (items) => {
        const out = list();
        for (let i = 0; i < items.length; i++) out[i] = items[i];
        return out;
      },
    });
  }
  get size() { return this.#names.length; }
  append(name, value) { params.add(this, textOf(name), textOf(value)); params.changed(this); }
  delete(name, value = undefined) {
    const key = textOf(name), only = value === undefined ? null : textOf(value);
    params.keep(this, (n, v) => n !== key || only !== null && v !== only);
    params.changed(this);
  }
  get(name) {
    const key = textOf(name);
    for (let i = 0; i < this.#names.length; i++) if (this.#names[i] === key) return this.#values[i];
    return null;
  }
  getAll(name) {
    const key = textOf(name), out = list();
    for (let i = 0; i < this.#names.length; i++) if (this.#names[i] === key) out[out.length] = this.#values[i];
    return arrayOf(out);
  }
  has(name, value = undefined) {
    const key = textOf(name), only = value === undefined ? null : textOf(value);
    for (let i = 0; i < this.#names.length; i++) if (this.#names[i] === key && (only === null || this.#values[i] === only)) return true;
    return false;
  }
  set(name, value) {
    const key = textOf(name), text = textOf(value);
    let found = false;
    params.keep(this, (n) => n !== key || !found && (found = true));
    if (!found) params.add(this, key, text);
    else for (let i = 0; i < this.#names.length; i++) if (this.#names[i] === key) this.#values[i] = text;
    params.changed(this);
  }
  sort() {
    const at = list(), names = params.copy(this.#names), values = params.copy(this.#values);
    for (let i = 0; i < names.length; i++) at[i] = i;
    sorted(at, (a, b) => names[a] < names[b] ? -1 : names[a] > names[b] ? 1 : a - b);
    for (let i = 0; i < at.length; i++) { this.#names[i] = names[at[i]]; this.#values[i] = values[at[i]]; }
    params.changed(this);
  }
  forEach(f, self = undefined) {
    if (typeof f !== 'function') throw typeError('URLSearchParams.forEach: a function is needed');
    const all = params.pairs(this);
    for (let i = 0; i < all.length; i++) apply(f, self, [all[i][1], all[i][0], this]);
  }
  entries() { return iterate(params.pairs(this)); }
  keys() { return iterate(params.copy(this.#names)); }
  values() { return iterate(params.copy(this.#values)); }
  toString() { return params.text(this); }
  [iterator]() { return iterate(params.pairs(this)); }
}

// --- URL ------------------------------------------------------------------

const among = (set) => (c) => c > 0x20 && c < 0x7f && indexOf(set, apply(fromCodes, undefined, [c])) < 0;
const pathKeeps = among('"#<>?`{}^'), queryKeeps = among('"#<>\''), hashKeeps = among('"<>`');
const shape = /^([A-Za-z][A-Za-z0-9+.\-]*):([^]*)$/, ports = /^([^]*?)(?::([0-9]*))?$/;
const nameShape = /^[a-z0-9_\-]+(?:\.[a-z0-9_\-]+)*\.?$/, sixShape = /^\[[0-9a-f:.]+\]$/, number = /^(?:[0-9]+|0x[0-9a-f]*)$/;
const quad = /^(?:(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])(?:\.|$)){4}$/;
const bad = (text) => typeError('not a URL: ' + quote(clipped(text)));
// cut returns what stands before mark, and from mark on.
const cut = (text, mark) => {
  const at = indexOf(text, mark);
  return at < 0 ? bare({ head: text, tail: '' }) : bare({ head: slice(text, 0, at), tail: slice(text, at) });
};
const replaced = (text, from, to) => {
  let out = '';
  for (let i = 0; i < text.length; i++) out += text[i] === from ? to : text[i];
  return out;
};
const clean = (text) => {
  let out = '', from = 0, to = text.length;
  while (from < to && codeAt(text, from) <= 0x20) from++;
  while (to > from && codeAt(text, to - 1) <= 0x20) to--;
  for (let i = from; i < to; i++) if (!includes('\t\n\r', text[i])) out += text[i];
  return out;
};
const setAuthority = (u, text) => {
  if (includes(text, '@')) throw typeError('a URL with a user name or a password cannot be fetched');
  const m = matches(ports, text), host = lower(m[1]), port = m[2];
  if (host === '' || host[0] === '[' ? !test(sixShape, host) : !test(nameShape, host)) throw bad(text);
  const labels = split(host[host.length - 1] === '.' ? slice(host, 0, host.length - 1) : host, '.');
  if (host[0] !== '[' && test(number, labels[labels.length - 1]) && !test(quad, host)) throw bad(text);
  u.hostname = host;
  setPort(u, port === undefined ? '' : port);
};
const setPort = (u, text) => {
  const n = text === '' ? -1 : toNumber(text);
  if (n > 65535 || n !== n) throw bad(text);
  u.port = n < 0 || n === (u.protocol === 'http:' ? 80 : 443) ? '' : '' + n;
};
const dots = (part) => {
  let out = '';
  for (let i = 0; i < part.length; i++) {
    if (part[i] === '.') out += '.';
    else if (lower(slice(part, i, i + 3)) === '%2e') { out += '.'; i += 2; }
    else return '';
  }
  return out;
};
// What of a path is above its last part, with the slash.
const folder = (path) => {
  let end = path.length;
  while (end > 0 && path[end - 1] !== '/') end--;
  return slice(path, 0, end);
};
const setPath = (u, text) => {
  const parts = split(replaced(text, '\\', '/'), '/'), out = list();
  let n = 0;
  for (let i = parts[0] === '' ? 1 : 0; i < parts.length; i++) {
    const d = dots(parts[i]), ends = i === parts.length - 1;
    if (d === '..') n = n > 0 ? n - 1 : 0;
    if (d !== '.' && d !== '..') out[n++] = escaped(parts[i], pathKeeps, '%20');
    else if (ends) out[n++] = '';
  }
  let path = '';
  for (let i = 0; i < n; i++) path += '/' + out[i];
  u.pathname = path === '' ? '/' : path;
};
const setSearch = (u, text) => { // with its question mark, or ''
  const q = text[0] === '?' ? slice(text, 1) : text;
  u.search = q === '' ? '' : '?' + escaped(q, queryKeeps, '%20');
};
const setHash = (u, text) => {
  const h = text[0] === '#' ? slice(text, 1) : text;
  u.hash = h === '' ? '' : '#' + escaped(h, hashKeeps, '%20');
};
const blank = () => bare({ protocol: '', hostname: '', port: '', pathname: '/', search: '', hash: '' });
const readURL = (given, base) => {
  const text = clean(given), u = blank(), m = matches(shape, text);
  const h = cut(m === null ? text : m[2], '#'), q = cut(h.head, '?');
  let rest = q.head;
  if (m === null && base === null) throw bad(given);
  if (m !== null && lower(m[1]) !== 'http' && lower(m[1]) !== 'https') throw typeError('only http and https URLs are there: ' + quote(clipped(given)));
  u.protocol = m === null ? base.protocol : lower(m[1]) + ':';
  rest = replaced(rest, '\\', '/');
  setSearch(u, q.tail);
  setHash(u, h.tail);
  if (m !== null || rest[0] === '/' && rest[1] === '/') {
    while (rest[0] === '/') rest = slice(rest, 1);
    const a = cut(rest, '/');
    setAuthority(u, a.head);
    setPath(u, a.tail);
    return u;
  }
  u.hostname = base.hostname;
  u.port = base.port;
  if (rest === '') {
    u.pathname = base.pathname;
    if (q.tail === '') u.search = base.search;
  } else {
    setPath(u, rest[0] === '/' ? rest : folder(base.pathname) + rest);
  }
  return u;
};
const host = (u) => u.hostname + (u.port === '' ? '' : ':' + u.port);
const href = (u) => u.protocol + '//' + host(u) + u.pathname + u.search + u.hash;

let urls;
class URL {
  #u; #params = null;
  constructor(url, base = undefined) {
    this.#u = readURL(urls.of(url), base === undefined ? null : readURL(urls.of(base), null));
  }
  static {
    urls = bare({ is: (v) => isObject(v) && #u in v, text: (v) => href(v.#u), of: (v) => urls.is(v) ? href(v.#u) : textOf(v) });
  }
  #searched() { if (this.#params !== null) params.read(this.#params, slice(this.#u.search, 1)); }
  get href() { return href(this.#u); }
  set href(v) { this.#u = readURL(textOf(v), null); this.#searched(); }
  get origin() { return this.#u.protocol + '//' + host(this.#u); }
  get protocol() { return this.#u.protocol; }
  set protocol(v) {
    const p = lower(cut(textOf(v), ':').head) + ':';
    if (p !== 'http:' && p !== 'https:') return;
    const port = this.#u.port;
    this.#u.protocol = p;
    setPort(this.#u, port);
  }
  get username() { this.#u; return ''; }
  get password() { this.#u; return ''; }
  get host() { return host(this.#u); }
  set host(v) { setAuthority(this.#u, textOf(v)); }
  get hostname() { return this.#u.hostname; }
  set hostname(v) { const port = this.#u.port; setAuthority(this.#u, textOf(v) + (port === '' ? '' : ':' + port)); }
  get port() { return this.#u.port; }
  set port(v) { setPort(this.#u, textOf(v)); }
  get pathname() { return this.#u.pathname; }
  set pathname(v) { setPath(this.#u, textOf(v)); }
  get search() { return this.#u.search; }
  set search(v) { setSearch(this.#u, textOf(v)); this.#searched(); }
  get hash() { return this.#u.hash; }
  set hash(v) { setHash(this.#u, textOf(v)); }
  get searchParams() {
    if (this.#params !== null) return this.#params;
    const p = this.#params = new URLSearchParams(), u = this.#u;
    params.read(p, slice(u.search, 1));
    params.bind(p, (text) => { this.#u.search = text === '' ? '' : '?' + text; });
    return p;
  }
  toString() { return href(this.#u); }
  toJSON() { return href(this.#u); }
  static canParse(url, base = undefined) { return urls.parsed(url, base) !== null; }
  static parse(url, base = undefined) { return urls.parsed(url, base); }
}
urls.parsed = (url, base) => {
  const text = urls.of(url), under = base === undefined ? undefined : urls.of(base);
  try { return new URL(text, under); } catch { return null; }
};
kit.params = params;
kit.urls = urls;
tagged(URLSearchParams, 'URLSearchParams');
tagged(URL, 'URL');
give('URL', URL);
give('URLSearchParams', URLSearchParams);

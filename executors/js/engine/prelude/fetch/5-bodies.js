// Headers, Request, Response.

const {
  apply, keysOf, quote, parse, indexOf, includes, matches, NewMap, NewPromise, NewBytes, mapGet, mapSet, mapEach,
  typedBuffer, method, bare, list, makeError,
} = hands;
const {
  lower, upper, mapHas, mapDelete, sorted, iterate, arrayOf, itemsOf, eachPair, utf8, textOfBytes, withoutMark,
  viewed, typeError, test, isObject, clipped, give, tagged, iterator, signals, params, urls,
  textOf,
} = kit;

// --- headers --------------------------------------------------------------

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/, text = /^[\t\x20-\x7e\x80-\xff]*$/, trimmed = /^[\t\n\r ]*([^]*?)[\t\n\r ]*$/;
const nameOf = (v) => {
  const name = textOf(v);
  if (!test(token, name)) throw typeError('not a name of a header: ' + quote(clipped(name)));
  return lower(name);
};
const valueOf = (v) => {
  trimmed.lastIndex = 0;
  const value = matches(trimmed, textOf(v))[1];
  if (!test(text, value)) throw typeError('not a value of a header: ' + quote(clipped(value)));
  return value;
};
let headers;
class Headers {
  #map = new NewMap(); #cookies = list();
  constructor(init = undefined) { if (init !== undefined) headers.fill(this, init); }
  static {
    const add = (h, name, value) => {
      if (name === 'set-cookie') h.#cookies[h.#cookies.length] = value;
      else mapSet(h.#map, name, mapHas(h.#map, name) ? mapGet(h.#map, name) + ', ' + value : value);
    };
    const pairs = (h) => {
      const names = list(), out = list();
      mapEach(h.#map, (_, name) => { names[names.length] = name; });
      if (h.#cookies.length !== 0) names[names.length] = 'set-cookie';
      sorted(names);
      for (let i = 0; i < names.length; i++) {
        if (names[i] !== 'set-cookie') out[out.length] = [names[i], mapGet(h.#map, names[i])];
        else for (let k = 0; k < h.#cookies.length; k++) out[out.length] = ['set-cookie', h.#cookies[k]];
      }
      return out;
    };
    headers = bare({
      add, pairs,
      is: (v) => isObject(v) && #map in v,
      each: (h, f) => { mapEach(h.#map, f); },
      fill: (h, init) => {
        if (headers.is(init)) {
          mapEach(init.#map, (value, name) => { add(h, name, value); });
          for (let i = 0; i < init.#cookies.length; i++) add(h, 'set-cookie', init.#cookies[i]);
          return;
        }
        if (!isObject(init)) throw typeError('headers are an object, a list of pairs, or Headers');
        const items = itemsOf(init);
        if (items !== null) return eachPair(items, (name, value) => { add(h, nameOf(name), valueOf(value)); });
        const keys = keysOf(init);
        for (let i = 0; i < keys.length; i++) add(h, nameOf(keys[i]), valueOf(init[keys[i]]));
      },
      column: (h, at) => {
        const all = pairs(h), out = list();
        for (let i = 0; i < all.length; i++) out[i] = all[i][at];
        return out;
      },
    });
  }
  append(name, value) { headers.add(this, nameOf(name), valueOf(value)); }
  delete(name) {
    const key = nameOf(name);
    if (key === 'set-cookie') this.#cookies = list(); else mapDelete(this.#map, key);
  }
  get(name) {
    const key = nameOf(name);
    if (key !== 'set-cookie') return mapGet(this.#map, key) ?? null;
    let out = null;
    for (let i = 0; i < this.#cookies.length; i++) out = out === null ? this.#cookies[i] : out + ', ' + this.#cookies[i];
    return out;
  }
  getSetCookie() {
    const out = list();
    for (let i = 0; i < this.#cookies.length; i++) out[i] = this.#cookies[i];
    return arrayOf(out);
  }
  has(name) {
    const key = nameOf(name);
    return key === 'set-cookie' ? this.#cookies.length !== 0 : mapHas(this.#map, key);
  }
  set(name, value) {
    const key = nameOf(name), v = valueOf(value);
    if (key === 'set-cookie') { this.#cookies = list(); this.#cookies[0] = v; } else mapSet(this.#map, key, v);
  }
  forEach(f, self = undefined) {
    if (typeof f !== 'function') throw typeError('Headers.forEach: a function is needed');
    const all = headers.pairs(this);
    for (let i = 0; i < all.length; i++) apply(f, self, [all[i][1], all[i][0], this]);
  }
  entries() { return iterate(headers.pairs(this)); }
  keys() { return iterate(headers.column(this, 0)); }
  values() { return iterate(headers.column(this, 1)); }
  [iterator]() { return iterate(headers.pairs(this)); }
}

// --- bodies ---------------------------------------------------------------

// A body is null, a text, or bytes that nobody else writes.
const newBody = (data) => bare({ data, used: false });
const take = (body, as) => new NewPromise((resolve, reject) => {
  try {
    if (body.used) throw typeError('the body is used already');
    body.used = body.data !== null;
    resolve(as(body.data));
  } catch (e) {
    reject(e);
  }
});
const asText = (data) => data === null ? '' : withoutMark(typeof data === 'string' ? data : textOfBytes(data, false));
const asJSON = (data) => parse(asText(data));
const asBytes = (data) => data === null ? new NewBytes(0) : typeof data === 'string' ? utf8(data) : viewed(data);
const asBuffer = (data) => typedBuffer(asBytes(data));
const extract = (v, h) => {
  let data = null, type = '';
  if (v === undefined || v === null) return newBody(null);
  if (typeof v === 'string') { data = v; type = 'text/plain;charset=UTF-8'; }
  else if (params.is(v)) { data = params.text(v); type = 'application/x-www-form-urlencoded;charset=UTF-8'; }
  else if (typeof v === 'number' || typeof v === 'boolean' || typeof v === 'bigint') { data = textOf(v); type = 'text/plain;charset=UTF-8'; }
  else if ((data = viewed(v)) === null) {
    throw typeError('a body is a string, an ArrayBuffer or a view of one, or URLSearchParams; JSON.stringify makes a string of an object');
  }
  let given = false;
  headers.each(h, (_, name) => { if (name === 'content-type') given = true; });
  if (type !== '' && !given) headers.add(h, 'content-type', type);
  return newBody(data);
};
const copied = (body) => {
  if (body.used) throw typeError('the body is used already');
  return newBody(body.data);
};

// --- responses ------------------------------------------------------------

let responses;
const phrase = /^[\t\x20-\x7e\x80-\xff]*$/;
class Response {
  #headers = new Headers(); #body = newBody(null); #status = 200; #statusText = ''; #url = ''; #redirected = false; #type = 'default';
  constructor(body = null, init = undefined) {
    if (init !== undefined && init !== null) {
      if (!isObject(init)) throw typeError('Response: the second argument is an object');
      const { status, statusText, headers: h } = init;
      if (status !== undefined) {
        const n = +status;
        if (!(n >= 200 && n <= 599) || n % 1 !== 0) throw makeError('RangeError', 'Response: the status is from 200 to 599');
        this.#status = n;
      }
      if (statusText !== undefined) {
        this.#statusText = textOf(statusText);
        if (!test(phrase, this.#statusText)) throw typeError('Response: not a status text');
      }
      if (h !== undefined) headers.fill(this.#headers, h);
    }
    this.#body = extract(body, this.#headers);
  }
  static {
    responses = bare({
      make: (f) => {
        const r = new Response(null);
        r.#status = f.status; r.#statusText = f.statusText; r.#url = f.url; r.#redirected = f.redirected; r.#type = f.type;
        r.#headers = f.headers; r.#body = newBody(f.body);
        return r;
      },
    });
  }
  get ok() { return this.#status >= 200 && this.#status <= 299; }
  get status() { return this.#status; }
  get statusText() { return this.#statusText; }
  get url() { return this.#url; }
  get redirected() { return this.#redirected; }
  get type() { return this.#type; }
  get headers() { return this.#headers; }
  get body() { this.#body; return null; }
  get bodyUsed() { return this.#body.used; }
  json() { return take(this.#body, asJSON); }
  text() { return take(this.#body, asText); }
  bytes() { return take(this.#body, asBytes); }
  arrayBuffer() { return take(this.#body, asBuffer); }
  clone() {
    const body = copied(this.#body), h = new Headers();
    headers.fill(h, this.#headers);
    return responses.make(bare({
      status: this.#status, statusText: this.#statusText, url: this.#url, redirected: this.#redirected, type: this.#type,
      headers: h, body: body.data,
    }));
  }
  static json(data, init = undefined) {
    const body = quote(data);
    if (typeof body !== 'string') throw typeError('Response.json: no JSON');
    const r = new Response(null, init);
    if (!mapHas(headersMap(r.#headers), 'content-type')) headers.add(r.#headers, 'content-type', 'application/json');
    r.#body = newBody(body);
    return r;
  }
  static error() {
    const r = new Response(null);
    r.#status = 0;
    r.#type = 'error';
    return r;
  }
}
const headersMap = (h) => {
  const m = new NewMap();
  headers.each(h, (value, name) => { mapSet(m, name, value); });
  return m;
};

// --- requests -------------------------------------------------------------

const absolute = /^[\x00-\x20]*[A-Za-z][A-Za-z0-9+.\-]*:/, scheme = /^[\x00-\x20]*https?:/i;
const urlOf = (v) => {
  const url = urls.is(v) ? urls.text(v) : textOf(v);
  if (!test(absolute, url)) throw typeError('not an absolute URL: ' + quote(clipped(url)));
  if (!test(scheme, url)) throw typeError('only http and https can be fetched: ' + quote(clipped(url)));
  return url;
};
const methodOf = (v) => {
  const name = textOf(v), up = upper(name);
  if (!test(token, name)) throw typeError('not a method: ' + quote(clipped(name)));
  if (includes(' CONNECT TRACE TRACK ', ' ' + up + ' ')) throw typeError('the method ' + up + ' cannot be fetched');
  return includes(' DELETE GET HEAD OPTIONS PATCH POST PUT ', ' ' + up + ' ') ? up : name;
};
const refused = ' host connection content-length transfer-encoding te trailer keep-alive upgrade expect via http2-settings ';
const checkHeaders = (h) => headers.each(h, (_, name) => {
  if (includes(refused, ' ' + name + ' ') || indexOf(name, 'proxy-') === 0) throw typeError("the header '" + name + "' is the host's to set");
});
const known = bare({ method: 1, headers: 1, body: 1, redirect: 1, signal: 1 });
const ignored = bare({
  mode: 1, credentials: 1, cache: 1, referrer: 1, referrerPolicy: 1, keepalive: 1, priority: 1, window: 1, duplex: 1,
});
const checkKeys = (init) => {
  const keys = keysOf(init);
  for (let i = 0; i < keys.length; i++) {
    if (known[keys[i]] !== 1 && ignored[keys[i]] !== 1) throw typeError('init.' + clipped(keys[i]) + ' is not supported');
  }
};
let requests;
// describe reads what fetch and Request are given, each property once.
const describeRequest = (input, init) => {
  const from = requests.is(input) ? requests.parts(input) : null;
  const r = bare({ url: from === null ? urlOf(input) : from.url, method: 'GET', headers: new Headers(), body: null, redirect: 'follow', signal: null });
  let body, given;
  if (from !== null) {
    r.method = from.method; r.redirect = from.redirect; r.signal = from.signal;
    given = from.headers;
  }
  if (init !== undefined && init !== null) {
    if (!isObject(init)) throw typeError('the second argument is an object');
    checkKeys(init);
    const m = init.method, h = init.headers, b = init.body, to = init.redirect, s = init.signal;
    if (m !== undefined) r.method = methodOf(m);
    if (h !== undefined) given = h;
    body = b;
    if (to !== undefined) r.redirect = textOf(to);
    if (s === null) r.signal = null;
    else if (s !== undefined) r.signal = s;
  }
  if (given !== undefined) headers.fill(r.headers, given);
  if (!includes(' follow error manual ', ' ' + r.redirect + ' ')) throw typeError("redirect is 'follow', 'error' or 'manual'");
  if (r.signal !== null && !signals.is(r.signal)) throw typeError('signal is not an AbortSignal');
  r.body = extract(body, r.headers);
  if (r.body.data === null && from !== null && from.body.data !== null) {
    r.body = copied(from.body);
    from.body.used = true;
  }
  checkHeaders(r.headers);
  if (r.body.data !== null && (r.method === 'GET' || r.method === 'HEAD')) throw typeError('a request with ' + r.method + ' has no body');
  return r;
};
class Request {
  #parts;
  constructor(input, init = undefined) { this.#parts = describeRequest(input, init); }
  static {
    requests = bare({ is: (v) => isObject(v) && #parts in v, parts: (v) => v.#parts });
  }
  get url() { return this.#parts.url; }
  get method() { return this.#parts.method; }
  get headers() { return this.#parts.headers; }
  get redirect() { return this.#parts.redirect; }
  get signal() { return this.#parts.signal ?? (this.#parts.signal = signals.make()); }
  get body() { this.#parts; return null; }
  get bodyUsed() { return this.#parts.body.used; }
  json() { return take(this.#parts.body, asJSON); }
  text() { return take(this.#parts.body, asText); }
  bytes() { return take(this.#parts.body, asBytes); }
  arrayBuffer() { return take(this.#parts.body, asBuffer); }
  clone() {
    const p = this.#parts, body = copied(p.body), r = new Request(p.url), h = new Headers();
    headers.fill(h, p.headers);
    r.#parts = bare({ url: p.url, method: p.method, headers: h, body, redirect: p.redirect, signal: p.signal });
    return r;
  }
}
kit.headers = headers;
kit.newHeaders = () => new Headers();
kit.responses = responses;
kit.describeRequest = describeRequest;
tagged(Headers, 'Headers');
tagged(Request, 'Request');
tagged(Response, 'Response');
give('Headers', Headers);
give('Request', Request);
give('Response', Response);

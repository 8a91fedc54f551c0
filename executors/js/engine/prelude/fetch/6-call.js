// The call itself.

const {
  keysOf, isArray, freeze, parse, slice, indexOf, NewPromise, typedName, bare, list, table, makeError,
  setStack, revive, openCall, lastCall, callOf, AT, RESOLVE, REJECT, index,
} = hands;
const { typeError, own, clock, signals, headers, newHeaders, responses, describeRequest } = kit;

// What the host is asked: data alone, without a prototype.
const question = (r) => {
  const h = table(), q = bare({ url: r.url, method: r.method, headers: h });
  headers.each(r.headers, (value, name) => { h[name] = value; });
  if (r.body.data !== null) q.body = r.body.data;
  if (r.redirect !== 'follow') q.redirect = r.redirect;
  if (r.signal !== null && signals.until(r.signal) !== 0) {
    const left = signals.until(r.signal) - clock();
    q.timeout = left > 1 ? left : 1;
  }
  return q;
};
const textual = (v) => typeof v === 'string' ? v : '';
const isList = (v) => typeof v === 'object' && v !== null && isArray(v);
const answerOf = (v, r) => {
  if (typeof v !== 'object' || v === null || isArray(v)) throw typeError('fetch failed: the answer is no response');
  const h = newHeaders(), given = own(v, 'headers'), cookies = own(v, 'setCookie');
  if (typeof given === 'object' && given !== null) {
    const keys = keysOf(given);
    for (let i = 0; i < keys.length; i++) headers.add(h, keys[i], textual(given[keys[i]]));
  }
  if (isList(cookies)) for (let i = 0; i < cookies.length; i++) headers.add(h, 'set-cookie', textual(cookies[i]));
  let body = own(v, 'body');
  if (body === undefined || body === null) body = null;
  else if (typeof body !== 'string' && typedName(body) !== 'Uint8Array') throw typeError('fetch failed: the answer has no body of text or bytes');
  const status = own(v, 'status'), url = own(v, 'url');
  return responses.make(bare({
    status: typeof status === 'number' ? status : 200, statusText: textual(own(v, 'statusText')),
    url: typeof url === 'string' ? url : r.url, redirected: own(v, 'redirected') === true,
    type: own(v, 'opaqueRedirect') === true ? 'opaqueredirect' : 'basic', headers: h, body,
  }));
};
const failure = (name, text) => {
  if (name !== 'BridgeError' && name !== 'TypeError') return makeError(name, text);
  return typeError('fetch failed: ' + (indexOf(text, 'fetch: ') === 0 ? slice(text, 7) : text));
};
const settled = (r) => (c, text, kind) => {
  const s = r.signal;
  if (s !== null) {
    signals.leave(s, c);
    if (signals.look(s)) return c[REJECT](signals.reason(s)); // it has been, but for a time that is over just now
  }
  if (kind === undefined || kind === true) {
    try {
      let v = text === undefined ? undefined : parse(text);
      if (kind === true) v = revive(table(), v);
      v = answerOf(v, r);
      c[RESOLVE](v);
    } catch (e) {
      c[REJECT](e);
    }
    return;
  }
  if (kind === 'TimeoutError' && s !== null) {
    signals.abort(s, signals.late());
    return c[REJECT](signals.reason(s));
  }
  const e = failure(kind, text);
  setStack(e, c[AT]);
  c[REJECT](e);
};
const self = {
  fetch(input, init = undefined) {
    let r;
    try {
      r = describeRequest(input, init);
      if (r.signal !== null && signals.look(r.signal)) throw signals.reason(r.signal);
      r.body.used = r.body.data !== null;
    } catch (e) {
      return new NewPromise((_, reject) => { reject(e); });
    }
    const args = list(), before = lastCall();
    args[0] = question(r);
    const promise = openCall(self, index, args, settled(r));
    if (r.signal !== null && lastCall() !== before) signals.follow(r.signal, callOf(lastCall()), 'call');
    return promise;
  },
}.fetch;
return freeze(self);

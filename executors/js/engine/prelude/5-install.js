// Calls, results, errors, and what Start installs.

const textOf = (v, most) => typeof v === 'string' ? slice(v, 0, most) : '';
// described never throws for what a getter does.
const described = (e) => {
  const d = bare({ name: '', message: '', stack: '' });
  if (isError(e)) {
    try { d.name = textOf(e.name, 256); } catch { }
    try { d.message = textOf(e.message, 8192); } catch { }
    try { d.stack = textOf(e.stack, 8192); } catch { }
    if (d.name === '') d.name = 'Error';
    return d;
  }
  d.name = 'Error';
  try { d.message = 'thrown: ' + slice(show(bare({ left: MAX_LINE, up: null }), e, 0), 0, MAX_LINE); } catch { d.message = 'thrown: an object'; }
  return d;
};
const describe = (e) => {
  const d = described(e);
  return '{"name":' + quote(d.name) + ',"message":' + quote(d.message) + ',"stack":' + quote(d.stack) +
    ',"reference":' + quote(referenceOf(e)) + '}';
};
// The message of the ReferenceError that e is or names as its cause. It runs no
// getter of the program.
const MAX_CAUSES = 8;
const referenceOf = (e) => {
  for (let i = 0; i < MAX_CAUSES && isError(e); i++) {
    if (getPrototypeOf(e) === errorProtos.ReferenceError) return textOf(property(e, 'message'), 256);
    e = property(e, 'cause');
  }
  return '';
};

const raw = globalThis.__raw;
delete globalThis.__raw;
let last = 0;
const pending = table(), unawaited = table();

// Whatever waits for a promise reads its constructor first.
const awaiting = bare({ get: undefined, set: undefined, enumerable: false, configurable: true });
// A call is an array of where it was made, its promise's functions, its bridge,
// and whether it was awaited: all own items, so no prototype is looked at.
// What settles it in another way than with what the host answers is its last item.
const AT = 0, RESOLVE = 1, REJECT = 2, INDEX = 3, AWAITED = 4, SETTLED = 5;
// openCall makes a call of the bridge with that number. Where it was made is said
// without the lines of self and above it.
const openCall = (self, index, args, settled) => {
  const at = { __proto__: null };
  captureStack(at, self); // cheaper than an error, and without the lines of this file
  let resolve, reject;
  const promise = new NewPromise((a, b) => { resolve = a; reject = b; });
  try {
    const text = encode(args, true); // may make calls of its own, from within a getter
    raw((last + 1) + ' ' + index + ' ' + text);
  } catch (e) {
    if (e === ownError && e !== null) setStack(e, at.stack);
    reject(e);
    return promise;
  }
  const id = ++last;
  const c = pending[id] = [at.stack, resolve, reject, index, false, settled];
  awaiting.get = () => {
    c[AWAITED] = true;
    delete unawaited[id];
    deleteProperty(promise, 'constructor');
    return NewPromise;
  };
  defineProperty(promise, 'constructor', awaiting);
  return promise;
};
const bridge = (key, index) => {
  const self = { [key](...args) { return openCall(self, index, args, null); } }[key];
  return self;
};

// settle takes nothing, for undefined; plain JSON, when there is no kind; a tagged
// value, when it is true; or the message and the name of an error.
const settle = (id, text, kind) => {
  const c = pending[id];
  delete pending[id];
  if (!c[AWAITED]) unawaited[id] = c[INDEX];
  if (c[SETTLED] !== null) return c[SETTLED](c, text, kind);
  if (text === undefined) return c[RESOLVE]();
  if (kind === undefined || kind === true) {
    let v;
    try {
      v = parse(text);
      if (kind === true) v = revive(table(), v);
    } catch (e) {
      return c[REJECT](e);
    }
    return c[RESOLVE](v);
  }
  const e = makeError(kind, text);
  setStack(e, c[AT]);
  c[REJECT](e);
};

// result encodes the value of a program: 'v' and the value, or 'e' and the
// error.
const result = (v) => {
  try {
    return 'v' + encode(v, false);
  } catch (e) {
    if (e === sizeError && e !== null) {
      return 'e' + describe(makeError('ResultTooLarge', 'the result is larger than ' + maxText + ' bytes'));
    }
    return 'e' + describe(e);
  }
};

// --- installation ---------------------------------------------------------

const state = new Uint32Array(4);
const rotate = (x, k) => (x << k) | (x >>> (32 - k));
const next = () => { // xoshiro128**
  const out = multiply(rotate(multiply(state[1], 5), 7), 9) >>> 0, t = state[1] << 9;
  state[2] ^= state[0]; state[3] ^= state[1]; state[1] ^= state[2]; state[0] ^= state[3];
  state[2] ^= t;
  state[3] = rotate(state[3], 11);
  return out;
};
const hidden = (object, key, value) => defineProperty(object, key, { value, writable: true, configurable: true });
const fixed = (object, key, value) =>
  defineProperty(object, key, bare({ value, writable: false, enumerable: true, configurable: false }));

hidden(Math, 'random', { random: () => ((next() >>> 5) * 67108864 + (next() >>> 6)) / 9007199254740992 }.random);
const console = {};
for (const level of ['log', 'info', 'warn', 'error', 'debug']) {
  hidden(console, level, { [level](...args) { raw(level, shown(args)); } }[level]);
}
hidden(globalThis, 'console', console);
// Not ECMAScript, or a way to the functions of this file.
for (const key of ['queueMicrotask', 'SharedArrayBuffer', 'performance', 'navigator']) delete globalThis[key];
for (const key of ['captureStackTrace', 'prepareStackTrace', 'stackTraceLimit']) delete Error[key];

// The functions of the folder fetch, and what of this one they are given.
const fetchParts = globalThis.__fetch;
const hands = (index) => bare({
  apply, setPrototypeOf, keysOf, defineProperty, hasOwn, isArray, freeze, quote, parse, slice, indexOf, includes, matches,
  NewMap, NewPromise, NewError, NewBytes, toNumber, mapGet, mapSet, mapEach,
  Typed, typedName, typedBuffer, typedOffset, typedBytes, typedLength, viewBuffer, viewOffset, viewBytes, bufferBytes,
  method, bare, list, table, arrayProto, makeError, setStack, callerStack, hidden, builtins, prototypes, revive,
  openCall, lastCall: () => last, callOf: (id) => pending[id], AT, RESOLVE, REJECT, index,
});
const installFetch = (index) => {
  const given = hands(index), kit = table();
  let made;
  for (const part of fetchParts) made = part(given, kit);
  return made;
};

const installBridge = (path, index) => {
  let at = globalThis;
  for (let i = 0; i < path.length - 1; i++) {
    const key = path[i];
    if (at === globalThis ? !spaces[key] && key in at : !hasOwn(at, key) && key in {}) throw new NewError('taken: ' + key);
    if (!hasOwn(at, key)) fixed(at, key, {});
    at = at[key];
    if (i === 0) spaces[key] = at;
    if (typeof at !== 'object') throw new NewError('taken: ' + key);
  }
  const key = path[path.length - 1];
  if (at === globalThis ? key in at : hasOwn(at, key)) throw new NewError('taken: ' + key);
  fixed(at, key, at === globalThis && key === 'fetch' ? installFetch(index) : freeze(bridge(key, index)));
};
const spaces = table();

const functionKinds = [function () { }, function* () { }, async function () { }, async function* () { }];
// denyGlobal removes a built-in global, or whatever has the name, and returns false
// when it is permanent.
const denyGlobal = (key, whatever) => {
  if (key === 'Function') {
    for (let i = 0; i < functionKinds.length; i++) deleteProperty(getPrototypeOf(functionKinds[i]), 'constructor');
  } else if (prototypes[key] !== undefined) {
    deleteProperty(prototypes[key], 'constructor');
  }
  const d = descriptorOf(globalThis, key);
  return d === undefined || !whatever && !same(d.value, builtins[key]) || deleteProperty(globalThis, key);
};

// install runs before any program, so it may use what it likes.
const install = (text) => {
  const c = parse(text);
  maxText = c.valueBytes;
  for (let i = 0; i < 4; i++) state[i] = c.seed[i];
  c.bridges.forEach((path, index) => installBridge(path, index));
  for (const key of keysOf(spaces)) deepFreeze(spaces[key]);
  const inputs = {};
  for (const [key, value] of c.inputs) fixed(inputs, key, deepFreeze(decode(value)));
  defineProperty(globalThis, 'inputs', { value: freeze(inputs), writable: false, enumerable: true, configurable: true });
  c.deny.forEach((key) => { if (!denyGlobal(key, true)) throw new NewError('cannot be denied: ' + key); });
};

// resume runs in a VM that had a program, so it uses only what was captured, and
// nothing in it may run a function of the program. It returns the name of a global
// that the program has made permanent and that has to go.
const resume = (text) => {
  const c = parse(text);
  maxText = c.valueBytes;
  for (let i = 0; i < 4; i++) state[i] = c.seed[i];
  if (c.ended) {
    forgetAll(pending);
    forgetAll(unawaited);
    const inputs = {};
    for (let i = 0; i < c.inputs.length; i++) fixed(inputs, c.inputs[i][0], deepFreeze(decode(c.inputs[i][1])));
    if (!defineProperty(globalThis, 'inputs', bare({ value: freeze(inputs), writable: false, enumerable: true, configurable: true }))) return 'inputs';
  }
  for (let i = 0; i < c.deny.length; i++) {
    if (!denyGlobal(c.deny[i], c.ended && c.deny[i] === 'inputs')) return c.deny[i];
  }
  return '';
};
// Top-level declarations of the programs before, other than var and function,
// become properties of the global object that can be declared again. Functions
// that refer to them find them there, by name, as before. What was never
// initialised goes.
const release = () => {
  const keys = ownKeys(declared);
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i], kind = typeof declared[key];
    if (includes(' undefined object boolean number bigint string symbol function ', ' ' + kind + ' ')) {
      if (!defineProperty(globalThis, key, released(key, declared[key]))) continue;
    } // else it has no value, and must not be touched further
    deleteProperty(declared, key);
  }
};
const released = (key, value) => descriptorOf(declared, key).writable
  ? bare({ value, writable: true, enumerable: false, configurable: true })
  : bare({
    get: () => value, set: () => { throw makeError('TypeError', "'" + key + "' is read-only"); },
    enumerable: false, configurable: true,
  });
const declared = globalThis.__declared;
delete globalThis.__declared;
if (declared.__probe !== 'declared' || getPrototypeOf(declared) !== null) throw new NewError('not the declarations');
delete declared.__probe;

// What the globals are. After a restore one may be the program's own: that stays,
// and is not looked at, which could run the program.
const builtins = table(), prototypes = table();
for (const key of ownKeys(globalThis)) {
  if (key === '__fetch') continue; // gone before any program
  const v = builtins[key] = descriptorOf(globalThis, key).value;
  if (typeof v === 'function' && hasOwn(v, 'prototype')) prototypes[key] = v.prototype;
}

const forgetAll = (t) => {
  const keys = keysOf(t);
  for (let i = 0; i < keys.length; i++) delete t[keys[i]];
};

return {
  install, resume, release, settle, result, describe, makeError,
  adopt: (p) => { p.constructor; },
  exported: (ns) => ns.default,
  unawaited: () => {
    let text = '';
    const ids = keysOf(unawaited);
    for (let i = 0; i < ids.length && i < 1000; i++) text += (i === 0 ? '' : ',') + ids[i] + ' ' + unawaited[ids[i]];
    return text;
  },
};

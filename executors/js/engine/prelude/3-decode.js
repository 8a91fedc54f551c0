// Values on their way in.

const revive = (s, x) => {
  if (typeof x !== 'object' || x === null) return x;
  if (isArray(x)) return reviveArray(s, x);
  if (hasOwn(x, MARK)) return reviveTagged(s, x, x[MARK]);
  return reviveObject(s, x);
};
// Both write only to own properties that are there, so no setter runs.
const reviveArray = (s, x) => {
  for (let i = 0; i < x.length; i++) {
    const item = x[i];
    if (typeof item !== 'object' || item === null) continue;
    if (hasOwn(item, MARK) && item[MARK] === 'hole') deleteProperty(x, i);
    else x[i] = revive(s, item);
  }
  return x;
};
const reviveObject = (s, x) => {
  const keys = keysOf(x);
  for (let i = 0; i < keys.length; i++) {
    const v = x[keys[i]];
    if (typeof v === 'object' && v !== null) x[keys[i]] = revive(s, v);
  }
  return x;
};
const name = (s, x, v) => { if (hasOwn(x, 'id')) s[x.id] = v; return v; };
const reviveTagged = (s, x, tag) => {
  switch (tag) {
    case 'undefined': return undefined;
    case 'number': return toNumber(x.value);
    case 'bigint': return BigNumber(x.value);
    case 'ref': return s[x.id];
    case 'object': name(s, x, x.value); return reviveObject(s, x.value);
    case 'array': name(s, x, x.value); return reviveArray(s, x.value);
    case 'date': return name(s, x, new NewDate(x.value === null ? NaN : x.value));
    case 'regexp': return name(s, x, new NewRegExp(x.source, x.flags));
    case 'bytes': return name(s, x, reviveBytes(x.type, fromBase64(NewBytes, x.value)));
    case 'error': return name(s, x, reviveError(x));
  }
  const items = x.value;
  if (tag === 'map') {
    const m = name(s, x, new NewMap());
    for (let i = 0; i < items.length; i++) mapSet(m, revive(s, items[i][0]), revive(s, items[i][1]));
    return m;
  }
  if (tag === 'set') {
    const m = name(s, x, new NewSet());
    for (let i = 0; i < items.length; i++) setAdd(m, revive(s, items[i]));
    return m;
  }
  if (tag !== 'entries') throw makeError('BridgeError', 'unknown tag');
  const o = name(s, x, {});
  for (let i = 0; i < items.length; i++) {
    defineProperty(o, items[i][0],
      bare({ value: revive(s, items[i][1]), writable: true, enumerable: true, configurable: true }));
  }
  return o;
};
const reviveBytes = (type, bytes) => {
  if (type === 'Uint8Array') return bytes;
  const buffer = typedBuffer(bytes);
  if (type === 'ArrayBuffer') return buffer;
  if (type === 'DataView') return new NewView(buffer);
  return construct(arrayTypes[type], [buffer]);
};
const reviveError = (x) => {
  const e = new NewError(x.message);
  setStack(e, '');
  if (errorProtos[x.name] !== undefined) setPrototypeOf(e, errorProtos[x.name]);
  else defineProperty(e, 'name', bare({ value: x.name, writable: true, enumerable: false, configurable: true }));
  return e;
};
const decode = (text) => {
  const x = parse(text);
  return includes(text, '"$ringd"') ? revive(table(), x) : x;
};

// Freezes objects and arrays; the contents of maps, sets and bytes stay as
// they are in JavaScript.
const deepFreeze = (v) => {
  if (typeof v !== 'object' || v === null || isFrozen(v)) return v;
  if (bytesLike(v)) return v;
  freeze(v);
  const keys = ownKeys(v);
  for (let i = 0; i < keys.length; i++) deepFreeze(v[keys[i]]);
  const proto = getPrototypeOf(v);
  if (proto === protos.map) mapEach(v, (item, k) => { deepFreeze(k); deepFreeze(item); });
  if (proto === protos.set) setEach(v, (item) => { deepFreeze(item); });
  return v;
};
const bytesLike = (v) => typedName(v) !== undefined && typedLength(v) > 0;

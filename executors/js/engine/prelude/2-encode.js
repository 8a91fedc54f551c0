// Values on their way out: ENCODING.md.

const MARK = '$ringd';
const MAX_DEPTH = 100, MAX_NODES = 1000000;
let maxText = 0;

// The encoding under way. An object met once is remembered in seen as false,
// met again as true; then the value is encoded a second time, with ids. The
// first object is in sole and not in seen, since most values have no second. It
// all stands in variables, which are far cheaper than properties; encode keeps
// those of an encoding that it interrupts, from within a getter.
let busy = false, sole = null, seen = null, again = false, emitted = null, ids = 0, nodes = 0, size = 0, depth = 0;
// The engine stores an array densely only while no item is left out.
const places = () => { const at = list(); at[0] = ''; return at; };
let kindAt = places(), keyAt = places(); // from depth 1: the containers, and the place in each

const identifier = /^[A-Za-z_$][A-Za-z0-9_$]*$/;
const isIdentifier = (s) => { identifier.lastIndex = 0; return matches(identifier, s) !== null; };
const pathOf = () => {
  let text = '$';
  for (let i = 1; i <= depth && i <= MAX_DEPTH; i++) {
    const key = keyAt[i];
    if (kindAt[i] === 'array') text += '[' + key + ']';
    else if (kindAt[i] !== 'object') text += '{' + key + '}';
    else if (key.length <= 64 && isIdentifier(key)) text += '.' + key;
    else text += '[' + quote(slice(key, 0, 64)) + ']';
  }
  return text;
};
let ownError = null, sizeError = null; // the last errors of fail and of tooLarge
const fail = (why) => { throw ownError = makeError('ArgumentError', pathOf() + ': ' + why); };
const tooLarge = () => {
  throw ownError = sizeError = makeError('ArgumentError', pathOf() + ': the value is larger than ' + maxText + ' bytes');
};

// Keys repeat: what stands before a value, for the first and for later keys.
const firstKey = table(), nextKey = table();
let keysLeft = 1000;
const quoteKey = (k, known, before) => {
  if (k === MARK) fail('a proxy that changes cannot cross');
  const text = before + quote(k) + ':';
  if ((size += text.length) > maxText) tooLarge();
  if (keysLeft > 0 && k.length <= 64) {
    keysLeft--;
    known[k] = text;
  }
  return text;
};
const measured = (text) => {
  if ((size += text.length) > maxText) tooLarge();
  return text;
};
const enter = (kind) => {
  if (++depth > MAX_DEPTH) {
    depth--;
    fail('nested deeper than ' + MAX_DEPTH);
  }
  kindAt[depth] = kind;
  keyAt[depth] = '';
};

// One look at a table costs as much as one comparison of a typeof.
const STRING = 1, NUMBER = 2, OBJECT = 3, BOOLEAN = 4, UNDEFINED = 5, BIGINT = 6;
const types = bare({ string: STRING, number: NUMBER, object: OBJECT, boolean: BOOLEAN, undefined: UNDEFINED, bigint: BIGINT });
const encodeValue = (v) => {
  if (++nodes > MAX_NODES) fail('more than ' + MAX_NODES + ' values');
  switch (types[typeof v]) {
    case STRING: {
      const text = quote(v);
      if ((size += text.length) > maxText) tooLarge();
      return text;
    }
    case NUMBER: return v - v === 0 && (v !== 0 || 1 / v > 0) ? '' + v : encodeNumber(v);
    case OBJECT: return v === null ? 'null' : encodeObject(v);
    case BOOLEAN: return v ? 'true' : 'false';
    case UNDEFINED: return '{"$ringd":"undefined"}';
    case BIGINT: return measured('{"$ringd":"bigint","value":"' + v + '"}');
  }
  fail(typeof v === 'symbol' ? 'a symbol cannot cross' : 'a function cannot cross');
};
const encodeNumber = (v) => '{"$ringd":"number","value":"' + (v === 0 ? '-0' : '' + v) + '"}';

const encodeObject = (v) => {
  let id = 0;
  if (emitted !== null) {
    if (mapGet(seen, v) === true) {
      id = mapGet(emitted, v);
      if (id !== undefined) return '{"$ringd":"ref","id":' + id + '}';
      mapSet(emitted, v, id = ++ids);
    }
  } else if (sole === null) {
    sole = v;
  } else {
    if (seen === null) mapSet(seen = new NewMap(), sole, false);
    if (mapGet(seen, v) !== undefined) {
      mapSet(seen, v, true);
      again = true;
      return 'null';
    }
    mapSet(seen, v, false);
  }
  const proto = getPrototypeOf(v);
  if (proto === objectProto || proto === null) return encodePlain(v, id);
  if (proto === arrayProto && isArray(v)) return encodeArray(v, id);
  switch (brand(v, proto)) {
    case 'map': return encodeMap(v, id);
    case 'set': return encodeSet(v, id);
    case 'date': return leaf('date', id, '"value":' + (same(dateTime(v), NaN) ? 'null' : quote(dateText(v))));
    case 'regexp':
      return leaf('regexp', id, '"source":' + quote(regexpSource(v)) + ',"flags":' + quote(regexpFlags(v)));
    case 'buffer': return encodeBytes(id, 'ArrayBuffer', v, 0, bufferBytes(v));
    case 'view': return encodeBytes(id, 'DataView', viewBuffer(v), viewOffset(v), viewBytes(v));
    case 'typed': return encodeBytes(id, typedName(v), typedBuffer(v), typedOffset(v), typedBytes(v));
    case 'error': return encodeError(v, id);
    case 'promise': return fail('a promise cannot cross; await it');
  }
  fail('an instance of a class cannot cross; copy its data into a plain object');
};
// brand names the built-in that v is, or nothing. A program can give any
// object any prototype, so both must agree.
const brand = (v, proto) => {
  if (isError(v)) return 'error';
  try {
    switch (proto) {
      case protos.map: mapSize(v); return 'map';
      case protos.set: setSize(v); return 'set';
      case protos.date: dateTime(v); return 'date';
      case protos.regexp: regexpFlags(v); return 'regexp';
      case protos.buffer: bufferBytes(v); return 'buffer';
      case protos.view: viewBytes(v); return 'view';
      case protos.promise: return 'promise';
    }
  } catch { }
  const name = mapGet(typedProtos, proto);
  return name !== undefined && typedName(v) === name ? 'typed' : '';
};

const head = (kind, id) => '{"$ringd":"' + kind + '",' + (id === 0 ? '' : '"id":' + id + ',');
const leaf = (kind, id, rest) => measured(head(kind, id) + rest + '}');
const encodePlain = (v, id) => {
  const keys = keysOf(v);
  if (hasOwn(v, MARK)) return encodeEntries(v, keys, id);
  enter('object');
  const n = keys.length;
  let text = '{';
  if (n !== 0) {
    let k = keyAt[depth] = keys[0];
    text = (firstKey[k] ?? quoteKey(k, firstKey, '{')) + encodeValue(v[k]);
    for (let i = 1; i < n; i++) {
      k = keyAt[depth] = keys[i];
      text += (nextKey[k] ?? quoteKey(k, nextKey, ',')) + encodeValue(v[k]);
    }
  }
  depth--;
  return id === 0 ? text + '}' : head('object', id) + '"value":' + text + '}}';
};
const encodeEntries = (v, keys, id) => {
  enter('object');
  let text = head('entries', id) + '"value":[';
  for (let i = 0; i < keys.length; i++) {
    const k = keyAt[depth] = keys[i];
    text += (i === 0 ? '[' : ',[') + measured(quote(k)) + ',' + encodeValue(v[k]) + ']';
  }
  depth--;
  return text + ']}';
};
const encodeArray = (v, id) => {
  const text = encodeItems(v);
  return id === 0 ? text : head('array', id) + '"value":' + text + '}';
};
const encodeItems = (v) => {
  enter('array');
  let text = '[';
  for (let i = 0; i < v.length; i++) {
    keyAt[depth] = i;
    if (i !== 0) text += ',';
    const item = v[i];
    if (item === undefined && !hasOwn(v, i)) {
      if (++nodes > MAX_NODES) fail('more than ' + MAX_NODES + ' values');
      text += '{"$ringd":"hole"}';
    } else {
      text += encodeValue(item);
    }
  }
  depth--;
  return text + ']';
};
const encodeMap = (v, id) => {
  enter('map');
  let text = head('map', id) + '"value":[', i = 0;
  mapEach(v, (item, k) => {
    keyAt[depth] = 'key ' + i;
    text += (i === 0 ? '[' : ',[') + encodeValue(k) + ',';
    keyAt[depth] = i++;
    text += encodeValue(item) + ']';
  });
  depth--;
  return text + ']}';
};
const encodeSet = (v, id) => {
  enter('set');
  let text = head('set', id) + '"value":[', i = 0;
  setEach(v, (item) => {
    keyAt[depth] = i;
    text += (i++ === 0 ? '' : ',') + encodeValue(item);
  });
  depth--;
  return text + ']}';
};
const encodeBytes = (id, name, buffer, offset, length) => {
  if (size + length > maxText) tooLarge();
  return leaf('bytes', id, '"type":"' + name + '","value":"' + toBase64(new NewBytes(buffer, offset, length)) + '"');
};
const encodeError = (v, id) => {
  const name = v.name, message = v.message;
  return leaf('error', id, '"name":' + quote(typeof name === 'string' ? name : 'Error') +
    ',"message":' + quote(typeof message === 'string' ? message : ''));
};

// encode returns the text of v; of the items of v when it is the array of a
// call's arguments, which nothing else can refer to.
const encode = (v, items) => {
  const outer = busy ? bare({ sole, seen, again, emitted, ids, nodes, size, depth, kindAt, keyAt }) : null;
  if (busy) {
    kindAt = places();
    keyAt = places();
  }
  busy = true;
  sole = seen = emitted = null;
  again = false;
  ids = nodes = size = depth = 0;
  try {
    let text = items ? encodeItems(v) : encodeValue(v);
    if (again) {
      emitted = new NewMap();
      nodes = size = depth = 0;
      text = items ? encodeItems(v) : encodeValue(v);
    }
    if (text.length > maxText) tooLarge();
    return text;
  } finally {
    busy = outer !== null;
    if (busy) ({ sole, seen, again, emitted, ids, nodes, size, depth, kindAt, keyAt } = outer);
  }
};

// The guest's side of the engine. It runs once, into the image, before any
// program; from then on it may use only what it captured here. A program can
// replace every global and every property of every prototype, so nothing below
// calls a method by name, spreads, iterates with for-of, destructures an array,
// or stores by index into an array that has a prototype.
(() => {
  'use strict';

  const { apply, getPrototypeOf, setPrototypeOf, ownKeys, defineProperty, deleteProperty, construct } = Reflect;
  const { call, bind } = Function.prototype;
  const method = (f) => apply(bind, call, [f]);
  const getter = (object, key) => method(Object.getOwnPropertyDescriptor(object, key).get);

  const keysOf = Object.keys, freeze = Object.freeze, isFrozen = Object.isFrozen, hasOwn = Object.hasOwn;
  const descriptorOf = Object.getOwnPropertyDescriptor;
  const same = Object.is, isArray = Array.isArray, isError = Error.isError;
  const quote = JSON.stringify, parse = JSON.parse;
  const slice = method(String.prototype.slice);
  const indexOf = method(String.prototype.indexOf), includes = method(String.prototype.includes);
  const matches = method(RegExp.prototype.exec);
  const symbolText = method(Symbol.prototype.toString);
  const NewMap = Map, NewSet = Set, NewDate = Date, NewRegExp = RegExp, NewPromise = Promise, NewError = Error;
  const NewBytes = Uint8Array, NewView = DataView, BigNumber = BigInt, toNumber = Number;
  const mapGet = method(Map.prototype.get), mapSet = method(Map.prototype.set), mapSize = getter(Map.prototype, 'size');
  const mapEach = method(Map.prototype.forEach);
  const setAdd = method(Set.prototype.add), setSize = getter(Set.prototype, 'size'), setEach = method(Set.prototype.forEach);
  const dateTime = method(Date.prototype.getTime), dateText = method(Date.prototype.toISOString);
  const regexpSource = getter(RegExp.prototype, 'source'), regexpFlags = getter(RegExp.prototype, 'flags');
  const Typed = getPrototypeOf(Uint8Array);
  const typedName = getter(Typed.prototype, Symbol.toStringTag), typedBuffer = getter(Typed.prototype, 'buffer');
  const typedOffset = getter(Typed.prototype, 'byteOffset'), typedBytes = getter(Typed.prototype, 'byteLength');
  const typedLength = getter(Typed.prototype, 'length');
  const viewBuffer = getter(DataView.prototype, 'buffer'), viewOffset = getter(DataView.prototype, 'byteOffset');
  const viewBytes = getter(DataView.prototype, 'byteLength'), bufferBytes = getter(ArrayBuffer.prototype, 'byteLength');
  const toBase64 = method(Uint8Array.prototype.toBase64), fromBase64 = method(Uint8Array.fromBase64);
  const multiply = Math.imul;

  // A value without a prototype: reads and writes of it reach nothing else.
  const bare = (object) => { setPrototypeOf(object, null); return object; };
  const list = () => bare([]);
  const table = () => bare({});

  const protos = bare({
    object: Object.prototype, array: Array.prototype, map: Map.prototype, set: Set.prototype, date: Date.prototype,
    regexp: RegExp.prototype, buffer: ArrayBuffer.prototype, view: DataView.prototype,
    typed: Typed.prototype, promise: Promise.prototype,
  });
  const arrayTypes = bare({
    Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array,
    Float16Array, Float32Array, Float64Array, BigInt64Array, BigUint64Array,
  });
  const typedProtos = new NewMap();
  for (const name of keysOf(arrayTypes)) mapSet(typedProtos, arrayTypes[name].prototype, name);

  // --- errors ---------------------------------------------------------------

  const stackOf = getter(Error.prototype, 'stack');
  const guestErrors = ['ImportDenied', 'CapabilityDenied', 'CapabilityRevoked', 'ApprovalDenied', 'BudgetExceeded',
    'ArgumentError', 'ResultTooLarge', 'BridgeError'];
  const errorProtos = bare({
    Error: Error.prototype, EvalError: EvalError.prototype, RangeError: RangeError.prototype,
    ReferenceError: ReferenceError.prototype, SyntaxError: SyntaxError.prototype, TypeError: TypeError.prototype,
    URIError: URIError.prototype,
  });
  for (const name of guestErrors) {
    const C = { [name]: class extends NewError {} }[name];
    defineProperty(C.prototype, 'name', { value: name, writable: true, configurable: true });
    defineProperty(globalThis, name, { value: C, writable: true, configurable: true });
    errorProtos[name] = C.prototype;
  }
  // Calls no constructor that a program could have replaced.
  const makeError = (name, message) => {
    const e = new NewError(message);
    setPrototypeOf(e, errorProtos[name] ?? errorProtos.BridgeError);
    return e;
  };

  // --- encoding -------------------------------------------------------------

  const MARK = '$ringd';
  const MAX_DEPTH = 100, MAX_NODES = 1000000;
  let maxText = 0;

  // The encoding under way. An object met once is remembered in seen as false,
  // met again as true; then the value is encoded a second time, with ids. It all
  // stands in variables since these are far cheaper than properties; encode
  // keeps those of an encoding that it interrupts, from within a getter.
  let busy = false, seen = null, again = false, emitted = null, ids = 0, nodes = 0, size = 0, depth = 0;
  let kindAt = list(), keyAt = list(); // from depth 1: the containers, and the place in each

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
  const fail = (why) => { throw makeError('ArgumentError', pathOf() + ': ' + why); };
  let sizeError = null; // the last error of tooLarge
  const tooLarge = () => {
    sizeError = makeError('ArgumentError', pathOf() + ': the value is larger than ' + maxText + ' bytes');
    throw sizeError;
  };

  const quoted = table(); // keys, which repeat
  let quotedLeft = 1000;
  const quoteKey = (k) => {
    const text = quote(k);
    if ((size += text.length) > maxText) tooLarge();
    if (quotedLeft > 0 && k.length <= 64) {
      quotedLeft--;
      quoted[k] = text;
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
  };

  const encodeValue = (v) => {
    if (++nodes > MAX_NODES) fail('more than ' + MAX_NODES + ' values');
    if (typeof v === 'string') return measured(quote(v));
    if (typeof v === 'number') return v - v === 0 && (v !== 0 || 1 / v > 0) ? '' + v : encodeNumber(v);
    if (v === null) return 'null';
    if (typeof v === 'object') return encodeObject(v);
    if (v === true) return 'true';
    if (v === false) return 'false';
    if (v === undefined) return '{"$ringd":"undefined"}';
    if (typeof v === 'bigint') return measured('{"$ringd":"bigint","value":"' + v + '"}');
    fail(typeof v === 'symbol' ? 'a symbol cannot cross' : 'a function cannot cross');
  };
  const encodeNumber = (v) => '{"$ringd":"number","value":"' + (v === 0 ? '-0' : '' + v) + '"}';

  const encodeObject = (v) => {
    let id = 0;
    if (emitted === null) {
      if (seen === null) seen = new NewMap();
      if (mapGet(seen, v) !== undefined) {
        mapSet(seen, v, true);
        again = true;
        return 'null';
      }
      mapSet(seen, v, false);
    } else if (mapGet(seen, v) === true) {
      id = mapGet(emitted, v);
      if (id !== undefined) return '{"$ringd":"ref","id":' + id + '}';
      mapSet(emitted, v, id = ++ids);
    }
    const proto = getPrototypeOf(v);
    if (proto === protos.object || proto === null) return encodePlain(v, id);
    if (proto === protos.array && isArray(v)) return encodeArray(v, id);
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
    let text = id === 0 ? '{' : head('object', id) + '"value":{';
    for (let i = 0; i < keys.length; i++) {
      const k = keyAt[depth] = keys[i];
      if (k === MARK) fail('a proxy that changes cannot cross');
      text += (i === 0 ? '' : ',') + (quoted[k] ?? quoteKey(k)) + ':' + encodeValue(v[k]);
    }
    depth--;
    return text + (id === 0 ? '}' : '}}');
  };
  const encodeEntries = (v, keys, id) => {
    enter('object');
    let text = head('entries', id) + '"value":[';
    for (let i = 0; i < keys.length; i++) {
      const k = keyAt[depth] = keys[i];
      text += (i === 0 ? '[' : ',[') + (quoted[k] ?? quoteKey(k)) + ',' + encodeValue(v[k]) + ']';
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
      const item = v[i];
      if (item === undefined && !hasOwn(v, i)) {
        if (++nodes > MAX_NODES) fail('more than ' + MAX_NODES + ' values');
        text += (i === 0 ? '' : ',') + '{"$ringd":"hole"}';
      } else {
        text += (i === 0 ? '' : ',') + encodeValue(item);
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
    const outer = busy ? bare({ seen, again, emitted, ids, nodes, size, depth, kindAt, keyAt }) : null;
    if (busy) {
      kindAt = list();
      keyAt = list();
    }
    busy = true;
    seen = emitted = null;
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
      if (busy) ({ seen, again, emitted, ids, nodes, size, depth, kindAt, keyAt } = outer);
    }
  };

  // --- decoding -------------------------------------------------------------

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
    defineProperty(e, 'stack', bare({ value: '', writable: true, enumerable: false, configurable: true }));
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

  // --- console --------------------------------------------------------------

  const MAX_LINE = 8192, MAX_ITEMS = 100, MAX_SHOW = 4;
  const show = (s, v, depth) => {
    if (s.left <= 0) return '…';
    const text = showValue(s, v, depth);
    s.left -= text.length > 16 ? 16 : text.length;
    return text;
  };
  const showValue = (s, v, depth) => {
    switch (typeof v) {
      case 'string': return quote(v.length > 1024 ? slice(v, 0, 1024) + '…' : v);
      case 'bigint': return v + 'n';
      case 'symbol': return symbolText(v);
      case 'function': return '[function' + (ownText(v, 'name') === '' ? '' : ' ' + ownText(v, 'name')) + ']';
      case 'number': return same(v, -0) ? '-0' : '' + v;
      case 'object': break;
      default: return '' + v;
    }
    if (v === null) return 'null';
    if (v === accessor) return '[getter]';
    for (let up = s.up; up !== null; up = up.up) if (up.v === v) return '[circular]';
    if (isError(v)) return showError(v);
    if (depth >= MAX_SHOW) return isArray(v) ? '[…]' : '{…}';
    s.up = bare({ v, up: s.up });
    const text = showObject(s, v, depth + 1);
    s.up = s.up.up;
    return text;
  };
  const ownText = (v, key) => {
    const d = descriptorOf(v, key);
    return d !== undefined && typeof d.value === 'string' ? slice(d.value, 0, 256) : '';
  };
  const showError = (v) => {
    const d = described(v);
    return d.name + (d.message === '' ? '' : ': ' + d.message) + (d.stack === '' ? '' : '\n' + trimEnd(d.stack));
  };
  const trimEnd = (text) => text[text.length - 1] === '\n' ? slice(text, 0, text.length - 1) : text;
  const showItems = (s, n, depth, item) => {
    let text = '';
    for (let i = 0; i < n; i++) {
      if (i >= MAX_ITEMS || s.left <= 0) return text + (i === 0 ? '' : ', ') + '… ' + (n - i) + ' more';
      text += (i === 0 ? '' : ', ') + item(i);
    }
    return text;
  };
  const showObject = (s, v, depth) => {
    const proto = getPrototypeOf(v);
    if (isArray(v)) return '[' + showItems(s, v.length, depth, (i) => show(s, property(v, i), depth)) + ']';
    try {
      switch (proto) {
        case protos.date: return same(dateTime(v), NaN) ? 'Invalid Date' : dateText(v);
        case protos.regexp: return '/' + regexpSource(v) + '/' + regexpFlags(v);
        case protos.buffer: return 'ArrayBuffer(' + bufferBytes(v) + ')';
        case protos.promise: return '[promise]';
        case protos.map: {
          const keys = list(), values = list();
          let n = 0;
          mapEach(v, (item, k) => { if (n < MAX_ITEMS) { keys[n] = k; values[n] = item; } n++; });
          return 'Map(' + n + ') {' + showItems(s, n, depth,
            (i) => show(s, keys[i], depth) + ' => ' + show(s, values[i], depth)) + '}';
        }
        case protos.set: {
          const values = list();
          let n = 0;
          setEach(v, (item) => { if (n < MAX_ITEMS) values[n] = item; n++; });
          return 'Set(' + n + ') {' + showItems(s, n, depth, (i) => show(s, values[i], depth)) + '}';
        }
      }
      const type = typedName(v);
      if (type !== undefined) {
        return type + '(' + typedLength(v) + ') [' + showItems(s, typedLength(v), depth, (i) => '' + v[i]) + ']';
      }
    } catch { }
    const keys = keysOf(v);
    const text = showItems(s, keys.length, depth, (i) =>
      (isIdentifier(keys[i]) ? keys[i] : quote(keys[i])) + ': ' + show(s, property(v, keys[i]), depth));
    const of = className(proto);
    return (of === '' ? '' : of + ' ') + (text === '' ? '{}' : '{ ' + text + ' }');
  };
  // The value of an own property; a getter is named, not called.
  const property = (v, key) => {
    const d = descriptorOf(v, key);
    if (d === undefined) return undefined;
    return hasOwn(d, 'value') ? d.value : accessor;
  };
  const accessor = table();
  const className = (proto) => {
    if (proto === null || proto === protos.object) return '';
    const d = descriptorOf(proto, 'constructor');
    return d !== undefined && typeof d.value === 'function' ? ownText(d.value, 'name') : '';
  };

  const directive = (s, code, v) => {
    switch (code) {
      case 's': return typeof v === 'string' ? v : show(s, v, 0);
      case 'd': case 'i': case 'f': return typeof v === 'number' || typeof v === 'bigint' ? '' + v : 'NaN';
      case 'c': return '';
      default: return show(s, v, 0);
    }
  };
  const format = (args) => {
    const s = bare({ left: MAX_LINE, up: null });
    let text = '', i = 0;
    if (args.length > 1 && typeof args[0] === 'string' && includes(args[0], '%')) {
      const f = args[0];
      i = 1;
      for (let p = 0; p < f.length && p < MAX_LINE; p++) {
        const code = f[p] === '%' ? f[p + 1] : undefined;
        if (code === '%') { text += '%'; p++; }
        else if (code !== undefined && i < args.length && includes('sdifcoOj', code)) { text += directive(s, code, args[i++]); p++; }
        else text += f[p];
      }
      if (i < args.length) text += ' ';
    }
    for (const first = i; i < args.length && text.length < MAX_LINE; i++) {
      text += (i === first ? '' : ' ') + (typeof args[i] === 'string' ? slice(args[i], 0, MAX_LINE) : show(s, args[i], 0));
    }
    return text.length > MAX_LINE ? slice(text, 0, MAX_LINE) + '…' : text;
  };

  // --- what leaves ----------------------------------------------------------

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
    return '{"name":' + quote(d.name) + ',"message":' + quote(d.message) + ',"stack":' + quote(d.stack) + '}';
  };

  const raw = globalThis.__raw;
  delete globalThis.__raw;
  let last = 0;
  const pending = table(), unawaited = table();

  const awaiting = bare({ get: undefined, set: undefined, enumerable: false, configurable: true });
  const opener = (index) => (args) => {
    const c = { __proto__: null, at: new NewError(''), resolve: undefined, reject: undefined };
    const promise = new NewPromise((resolve, reject) => { c.resolve = resolve; c.reject = reject; });
    let text;
    try {
      text = encode(args, true);
    } catch (e) {
      c.reject(e);
      return promise;
    }
    const id = ++last;
    pending[id] = c;
    unawaited[id] = index;
    raw('call', id + ' ' + index, text);
    // Whatever waits for the promise reads its constructor first.
    awaiting.get = () => {
      delete unawaited[id];
      deleteProperty(promise, 'constructor');
      return NewPromise;
    };
    defineProperty(promise, 'constructor', awaiting);
    return promise;
  };

  // callerStack is where a bridge was called, without the lines of this file.
  const callerStack = (at) => {
    let text = stackOf(at);
    for (let i = 0; i < 4; i++) {
      const end = indexOf(text, '\n');
      if (end < 0 || indexOf(slice(text, 0, end), '(<null>:') < 0) break;
      text = slice(text, end + 1);
    }
    return text;
  };

  const settle = (id, kind, text) => {
    const c = pending[id];
    delete pending[id];
    if (kind === 'value') {
      let v;
      try {
        v = decode(text);
      } catch (e) {
        return c.reject(e);
      }
      return c.resolve(v);
    }
    const e = makeError(kind, text);
    defineProperty(e, 'stack', bare({ value: callerStack(c.at), writable: true, enumerable: false, configurable: true }));
    c.reject(e);
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
    defineProperty(object, key, { value, writable: false, enumerable: true, configurable: false });

  hidden(Math, 'random', { random: () => ((next() >>> 5) * 67108864 + (next() >>> 6)) / 9007199254740992 }.random);
  const console = {};
  for (const level of ['log', 'info', 'warn', 'error', 'debug']) {
    hidden(console, level, { [level](...args) { raw('console', level, format(args)); } }[level]);
  }
  hidden(globalThis, 'console', console);
  // Not ECMAScript, or a way to the functions of this file.
  for (const key of ['queueMicrotask', 'SharedArrayBuffer', 'performance', 'navigator']) delete globalThis[key];
  for (const key of ['captureStackTrace', 'prepareStackTrace', 'stackTraceLimit']) delete Error[key];

  const installBridge = (path, index) => {
    const open = opener(index);
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
    fixed(at, key, freeze({ [key](...args) { return open(args); } }[key]));
  };
  const spaces = table();

  const denyGlobal = (key) => {
    const v = globalThis[key];
    if (key === 'Function') {
      for (const f of [function () { }, function* () { }, async function () { }, async function* () { }]) {
        deleteProperty(getPrototypeOf(f), 'constructor');
      }
    } else if (typeof v === 'function' && v.prototype && hasOwn(v.prototype, 'constructor')) {
      deleteProperty(v.prototype, 'constructor');
    }
    if (key in globalThis && !deleteProperty(globalThis, key)) throw new NewError('cannot be denied: ' + key);
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
    c.deny.forEach(denyGlobal);
  };

  return {
    install, settle, result, describe, makeError,
    adopt: (p) => { p.constructor; },
    exported: (ns) => ns.default,
    unawaited: () => {
      const ids = keysOf(unawaited);
      let text = '';
      for (let i = 0; i < ids.length && i < 1000; i++) text += (i === 0 ? '' : ',') + ids[i] + ' ' + unawaited[ids[i]];
      return text;
    },
  };
})()

// What console writes.

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
// What a program's own proxies and getters throw while it is shown stays here.
const shown = (args) => {
  try {
    return format(args);
  } catch {
    return '[a value that cannot be shown]';
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

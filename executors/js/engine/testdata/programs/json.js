const text = JSON.stringify({ a: [1, { b: null }], d: new Date(0), u: undefined });
const back = JSON.parse(text, (k, v) => k === 'b' ? 'revived' : v);
await gate(back);
const cyclic = {};
cyclic.self = cyclic;
let why = '';
await gate(0);
try { JSON.stringify(cyclic); } catch (e) { why = e.name; }
[text, back, why];

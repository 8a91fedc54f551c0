let reads = 0;
const o = { get n() { return ++reads; }, set n(v) { reads = v; } };
const frozen = Object.freeze({ deep: { open: 1 } }), sealed = Object.seal({ s: 1 });
Object.defineProperty(o, 'hidden', { value: 7 });
await gate(o.n);
o.n = 40;
let refused = '';
try { (function () { 'use strict'; frozen.deep = 1; })(); } catch (e) { refused = e.name; }
sealed.s = 2; frozen.deep.open = 2;
await gate(0);
[o.n, Object.keys(o), o.hidden, refused, Object.isFrozen(frozen), Object.isSealed(sealed), sealed.s, frozen.deep.open];

function sloppy(a) { arguments[0] = 'changed'; return async () => { await gate(0); return [a, arguments.length]; }; }
const o = { inWith: 1 };
let read;
with (o) { read = () => inWith; }
o.inWith = 2;
await gate(0);
[await sloppy('x', 'y')(), read(), (function () { return typeof this; })()];

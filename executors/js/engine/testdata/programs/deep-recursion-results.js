const deep = (n) => n === 0 ? null : { next: deep(n - 1) };
const chain = deep(400);
const sum = (n) => n === 0 ? 0 : 1 + sum(n - 1);
const before = sum(400);
await gate(0);
let n = 0;
for (let at = chain; at; at = at.next) n++;
await gate(0);
let overflow = '';
try { (function f() { f(); })(); } catch (e) { overflow = e.name; }
[before, n, sum(400), overflow];

function* inner() { const x = yield 'inner 1'; yield 'inner ' + x; return 'returned'; }
function* outer() { const r = yield* inner(); yield r; yield* [1, 2]; }
const g = outer();
const out = [g.next().value];
await gate(0);
out.push(g.next('x').value);
await gate(0);
out.push(...g);
out;

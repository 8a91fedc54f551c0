function* count(to) { try { for (let i = 0; i < to; i++) { const got = yield i; if (got) i += got; } } finally { closed.push(to); } }
const closed = [];
const a = count(10), b = count(100);
a.next(); a.next();
b.next();
await gate(0);
const jumped = a.next(5).value;
b.return('done');
await gate(0);
[jumped, a.next().value, a.next(), a.next(), b.next(), closed];

const order = [];
const track = (p, n) => p.then((v) => { order.push(n); return v; });
const got = await Promise.all([track(gate('a'), 1), track(free('b'), 2), track(gate('c'), 3), 'plain', track(Promise.resolve(4), 4)]);
[got, order];

async function* g() { yield await gate('a'); yield await gate('b'); yield await gate('c'); }
const it = g();
const all = await Promise.all([it.next(), it.next(), it.next(), it.next()]);
all.map((r) => [r.value ?? null, r.done]);

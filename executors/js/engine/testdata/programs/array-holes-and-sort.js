const a = Array.from({ length: 500 }, (_, i) => (i * 7919) % 503);
const cmp = (x, y) => x - y;
await gate(0);
a.sort(cmp);
const groups = Object.groupBy(a, (x) => x % 3);
await gate(0);
[a[0], a[499], groups[1].length, a.toSorted((x, y) => y - x)[0], a.findLast((x) => x < 10), a.with(0, 'w')[0]];

const seen = [];
const tag = (strings, ...v) => { seen.push(strings); return strings.raw.join('|') + v.join(','); };
const f = (x) => tag`a${x}\n${x}b`;
const first = f(1);
await gate(0);
const second = f(2);
await gate(0);
f(3);
[first, second, seen[0] === seen[1], seen[1] === seen[2], Object.isFrozen(seen[0])];

let s = '';
for (let i = 0; i < 2000; i++) s += i % 10;
const part = s.slice(100, 1100), wide = s + 'ü😀';
await gate(0);
s += part;
await gate(0);
[s.length, part.slice(0, 12), wide.at(-1), wide.length, s.indexOf('901'), (s + wide).length, [...'😀é'].length];

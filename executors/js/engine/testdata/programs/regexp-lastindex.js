const re = /(?<word>\w+)\s*/gy, text = 'one two three';
const first = re.exec(text).groups.word;
await gate(0);
const at = re.lastIndex, second = re.exec(text).groups.word;
await gate(0);
const all = [...text.matchAll(/t(\w)/g)].map((m) => [m[1], m.index]);
[first, at, second, re.exec(text).groups.word, re.exec(text), all, 'aBc'.replace(/b/i, (c) => c + c), /\p{L}+/u.exec('äö1')[0]];

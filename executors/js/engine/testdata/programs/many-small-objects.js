const rows = [];
for (let i = 0; i < 3000; i++) rows.push({ id: i, tags: ['t' + i % 7], nested: { even: i % 2 === 0 } });
const index = new Map(rows.map((r) => [r.id, r]));
await gate(rows.length);
index.get(1500).tags.push('changed');
await gate(0);
[rows[1500].tags, index.size, rows.filter((r) => r.nested.even).length];

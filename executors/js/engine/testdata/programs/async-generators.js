async function* pages(n) { try { for (let i = 0; i < n; i++) yield { page: await gate(i), free: await free(i) }; } finally { out.push('closed'); } }
const out = [];
for await (const p of pages(3)) { out.push(p); if (p.page === 1) await gate('between'); }
const half = pages(5);
out.push((await half.next()).value.page);
await gate(0);
await half.return();
out;

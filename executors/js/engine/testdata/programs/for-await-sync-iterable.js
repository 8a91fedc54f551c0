const out = [];
for await (const v of [gate(1), 2, free(3), Promise.resolve(gate(4))]) out.push(v);
out;

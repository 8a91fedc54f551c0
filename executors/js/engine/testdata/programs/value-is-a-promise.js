const p = gate(1);
const q = (async () => [await p, await gate(2)])();
q;

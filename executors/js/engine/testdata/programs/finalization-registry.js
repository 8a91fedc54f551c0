const seen = [];
const registry = new FinalizationRegistry((held) => seen.push(held));
const kept = { a: 1 };
(() => { registry.register({ garbage: true }, 'first'); registry.register(kept, 'never'); })();
await gate(0);
(() => { registry.register({ garbage: true }, 'second'); })();
await gate(0);
await 0;
[seen.sort(), kept.a];

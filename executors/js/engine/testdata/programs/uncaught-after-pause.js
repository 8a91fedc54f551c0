const deep = async (n) => { if (n === 0) { await gate('bottom'); throw new TypeError('from the bottom'); } return deep(n - 1); };
await gate(1);
await deep(3);

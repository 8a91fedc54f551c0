const down = async (n) => n === 0 ? await gate('deep') : n + await down(n - 1);
await gate(0);
typeof await down(300);

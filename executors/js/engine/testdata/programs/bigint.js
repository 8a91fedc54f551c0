let n = 2n ** 200n;
const parts = [n];
n += BigInt(await gate(7));
parts.push(n);
n = -n / 3n;
await gate(0);
parts.push(n, BigInt.asUintN(64, n), n & 0xffffn, 10n ** 40n);
parts.map(String);

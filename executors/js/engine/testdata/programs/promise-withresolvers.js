const { promise, resolve } = Promise.withResolvers();
const chain = promise.then((v) => gate(v + 1)).then((v) => v * 2).finally(() => gate('finally'));
await gate(0);
resolve(20);
await gate(1);
[await chain, await Promise.try(() => gate(5))];

const log = [];
const tick = async (n) => { log.push(n + 'a'); await null; log.push(n + 'b'); await gate(n); log.push(n + 'c'); };
const all = [tick(1), tick(2), tick(3)];
Promise.resolve().then(() => log.push('p'));
await Promise.all(all);
log;

let release;
const lock = new Promise((r) => { release = r; });
const worker = async (n) => { await lock; return (await gate(n)) + (await gate(n)); };
const workers = [worker(1), worker(2)];
await gate('before the release');
release();
await Promise.all(workers);

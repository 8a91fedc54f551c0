const r = Math.random();
await gate(0);
const s = Math.random();
[r >= 0 && r < 1, s >= 0 && s < 1, typeof Date.now(), typeof performance, typeof Atomics, typeof SharedArrayBuffer];

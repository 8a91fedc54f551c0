const buffer = new ArrayBuffer(16), half = new Uint16Array(buffer, 4, 4), all = new Uint8Array(buffer), v = new DataView(buffer, 4);
const moved = new ArrayBuffer(8), old = new Uint8Array(moved);
half.set([1, 2, 3, 4]);
await gate(0);
all[5] = 1;
const taken = moved.transfer(4);
await gate(0);
v.setUint16(2, 7, true);
[[...half], old.length, moved.detached, taken.byteLength, half.buffer === v.buffer, [...all.subarray(4, 8)]];

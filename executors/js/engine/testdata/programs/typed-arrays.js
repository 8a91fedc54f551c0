const buffer = new ArrayBuffer(32, { maxByteLength: 64 });
const bytes = new Uint8Array(buffer), words = new Uint32Array(buffer, 8, 2), floats = new Float64Array(buffer, 16, 2);
const tracking = new Uint8Array(buffer);
words[0] = 0xdeadbeef; floats[1] = Math.PI;
await gate(0);
bytes[8] ^= 0xff;
buffer.resize(48);
await gate(0);
[words[0].toString(16), floats[1] === Math.PI, bytes.buffer === words.buffer, tracking.length, bytes.subarray(8, 12).byteOffset, [...bytes.slice(8, 12)], new Float16Array([1.5])[0]];

const buffer = new ArrayBuffer(16), v = new DataView(buffer, 2, 12), u = new Uint8Array(buffer);
v.setInt16(0, -2); v.setFloat32(2, 1.5, true); v.setBigInt64(4, -5n);
await gate(0);
u[2] = 0x7f;
await gate(0);
[v.getInt16(0), v.getUint8(0), v.getBigInt64(4), v.byteOffset, v.byteLength, buffer === v.buffer];

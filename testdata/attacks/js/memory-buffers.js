// attack: buffers until memory is gone
// want: limit OutOfMemory
// cpu: 5000
const a = []; for (;;) a.push(new ArrayBuffer(1 << 20))

// attack: running out of memory again and again, catching it each time
// want: limit
for (;;) { try { const a = []; for (;;) a.push(new ArrayBuffer(1 << 18)) } catch {} }

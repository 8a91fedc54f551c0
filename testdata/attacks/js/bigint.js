// attack: one huge BigInt conversion, a single native call
// want: limit Timeout
let x = 3n ** 400000n; for (;;) x.toString()

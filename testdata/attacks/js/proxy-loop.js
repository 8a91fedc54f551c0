// attack: a proxy whose every trap asks the proxy again
// want: failed RangeError
// cpu: 5000
const p = new Proxy({}, { get: (t, k, r) => r[k], has: (t, k) => k in p }); p.x

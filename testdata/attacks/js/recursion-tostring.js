// attack: recursion through toString
// want: failed RangeError
// cpu: 5000
const o = { toString() { return `${o}` } }; `${o}`

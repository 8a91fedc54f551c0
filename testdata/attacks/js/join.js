// attack: a native join over a sparse array of 1e9
// want: limit
const s = new Array(1e9).join('x'); s.length

// attack: a native search over a sparse array of 2^32-2
// want: limit Timeout
const a = []; a.length = 2**32 - 2; a.indexOf(7)

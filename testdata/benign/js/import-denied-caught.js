// want: done "ImportDenied"
// modules: math
let n
try { await import('requests') } catch (e) { n = e.name }
n

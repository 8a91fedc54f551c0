// want: done [true,"ann"]
// inputs: {"name":"ann"}
let refused = false
try { 'use strict'; inputs.name = 'bob' } catch {}
;[Object.isFrozen(inputs), inputs.name]

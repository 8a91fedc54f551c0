// want: done "CapabilityDenied"
// bridges: forbidden
let n
try { await forbidden() } catch (e) { n = e.name }
n

// attack: a prepared stack trace sees no frame of the host
// want: done true
// cpu: 5000
Error.prepareStackTrace = (e, frames) => frames
let s = ''
try { null.x } catch (e) { s = String(e.stack) }
!/\.go|\/root|\/home|wazero/.test(s)

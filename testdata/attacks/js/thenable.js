// attack: a thenable that answers with itself for ever
// want: limit Timeout
const t = { then(ok) { ok(t) } }; await t

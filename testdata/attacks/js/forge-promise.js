// attack: patching Promise to see or fake an answer
// want: done ["none",[1]]
// cpu: 5000
// bridges: echo
let seen = 'none'
const then = Promise.prototype.then
Promise.prototype.then = function (ok, no) { return Reflect.apply(then, this, [(v) => { seen = typeof v === 'object' && v && v.resolve ? 'resolver' : seen; return ok ? ok(v) : v }, no]) }
Object.defineProperty(Promise, Symbol.species, { value: class extends Promise {} })
const r = await echo(1)
Promise.prototype.then = then
;[seen, r]

// attack: an argument with a __proto__ key stays data
// want: done [true,"own"]
// cpu: 5000
// bridges: echo
const r = (await echo(JSON.parse('{"__proto__": {"admin": true}, "k": "own"}')))[0]
;[Object.hasOwn(r, '__proto__') && r.admin === undefined && ({}).admin === undefined, r.k]

// attack: console values with throwing and endless accessors
// want: done 1
// cpu: 5000
console.log({ get a() { throw new Error('x') } }, Object.create(null), Symbol('s'), 10n)
try { console.log(new Proxy({}, { ownKeys() { throw 1 }, getPrototypeOf() { throw 2 } })) } catch {}
1

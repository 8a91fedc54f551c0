// attack: values that throw when they are shown
// want: done "unharmed"
const r = Proxy.revocable({}, {})
r.revoke()
for (const v of [r.proxy, new Proxy({}, { ownKeys() { throw 1 } }), new Proxy([], { getPrototypeOf() { throw 2 } })]) console.log(v)
'unharmed'

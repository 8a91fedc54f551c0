// attack: arguments for whose copy the heap has no room
// want: done ["InternalError","out of memory"]
// bridges: echo
// calls: 0
// cpu: 2000
const s = 'é'.repeat(21e5)
let out
for (let i = 0; i < 5; i++) try { await echo(s) } catch (e) { out = [e.name, e.message] }
out

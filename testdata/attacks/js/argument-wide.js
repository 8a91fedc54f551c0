// attack: an argument that is larger in bytes than in characters
// want: done ["ArgumentError","echo: the arguments are larger than 16711680 bytes",1]
// bridges: echo
// calls: 1
// cpu: 5000
// memory: 134217728
const out = []
try { await echo('é'.repeat(9e6)) } catch (e) { out.push(e.name, e.message) }
out.push(await echo(1).then((a) => a.length ?? a))
out

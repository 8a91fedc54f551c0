// attack: an error that nothing handles and a wait for what it broke
// want: limit Deadlock
let done
const wait = new Promise((r) => { done = r });
(async () => { null.x; done() })()
await wait

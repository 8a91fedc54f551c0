// attack: waits for its own promise
// want: limit Deadlock
// cpu: 5000
let p; p = (async () => { await 0; await p })(); await p

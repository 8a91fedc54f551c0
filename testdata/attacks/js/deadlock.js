// attack: waits for a promise that nobody can settle
// want: limit Deadlock
// cpu: 5000
await new Promise(() => {})

// attack: a storm of microtasks that never lets the queue empty
// want: limit Timeout
function again() { Promise.resolve().then(again) }
again()
await new Promise(() => {})

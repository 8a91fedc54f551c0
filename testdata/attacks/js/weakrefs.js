// attack: a million weak references
// want: limit Timeout
for (;;) { const a = []; for (let i = 0; i < 1000; i++) a.push(new WeakRef({ i })) }

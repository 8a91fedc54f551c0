// attack: a sort whose comparator never settles
// want: limit Timeout
const a = Array.from({length: 50000}, (_, i) => i); for (;;) a.sort(() => Math.random() - 0.5)

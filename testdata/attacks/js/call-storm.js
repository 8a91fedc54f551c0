// attack: a hundred thousand calls at once
// want: done true
// bridges: echo
// cpu: 5000
// memory: 67108864
let refused = 0
await Promise.all(Array.from({ length: 3000 }, () => echo(1).catch((e) => { if (e.name === 'BudgetExceeded') refused++ })))
refused > 0

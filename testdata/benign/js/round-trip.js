// want: done [true,true,true]
// bridges: echo
const [m, d, b] = await echo(new Map([['k', 1]]), new Date(0), 2n ** 70n)
;[m instanceof Map && m.get('k') === 1, d instanceof Date && d.getTime() === 0, b === 2n ** 70n]

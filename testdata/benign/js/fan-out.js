// want: done [2,4,6]
// bridges: echo
const double = async (n) => (await echo(n))[0] * 2
await Promise.all([1, 2, 3].map(double))

// want: done 3
const a = await Promise.resolve(1)
const b = await 2
a + b

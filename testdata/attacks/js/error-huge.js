// attack: an error whose name, message and stack are megabytes long
// want: failed
// cpu: 5000
// memory: 67108864
const e = new Error('m'.repeat(8 << 20))
e.name = 'n'.repeat(1 << 20)
throw e

// want: done 42
// modules: math
const { answer } = await import('policy:math')
answer()

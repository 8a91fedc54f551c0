// want: done 1
console.log('a', { b: [1, 2] })
console.error(new Error('shown'))
1

console.log('before', { a: 1 });
const a = gate(1).then((v) => console.log('a', v));
const b = free(2).then((v) => console.log('b', v));
console.warn('between');
await Promise.all([a, b]);
console.error('after %s', 'x');
await gate(3);
console.debug([1, [2]]);
'done';

const bad = Promise.reject(new TypeError('handled later'));
Promise.reject(new RangeError('never handled'));
await gate(0);
let late = '';
bad.catch((e) => { late = e.message; });
await gate(0);
late;

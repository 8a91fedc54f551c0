const log = [];
const f = async (n) => {
  try { log.push('try ' + n); return await gate(n); } finally { log.push('finally ' + n); await gate('f' + n); log.push('after ' + n); }
};
const a = await f(1), b = await Promise.all([f(2), f(3)]);
[a, b, log];

let keep = [];
for (let round = 0; round < 3; round++) {
  let junk = [];
  for (let i = 0; i < 2000; i++) { const o = { i, self: null }; o.self = o; junk.push(o); }
  keep.push(junk[round].self.i);
  junk = null;
  await gate(round);
}
keep;

const out = [];
outer: for (let i = 0; i < 4; i++) {
  inner: for (let j = 0; ; j++) {
    const v = await gate(i * 10 + j);
    if (j === 1) continue outer;
    if (i === 2) break outer;
    if (v === 10) continue inner;
    out.push(v);
  }
}
out;

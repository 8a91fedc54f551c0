const fs = [];
for (let i = 0; i < 3; i++) { fs.push(() => i++); await gate(i); }
let w = 0;
while (w < 2) { const at = w; fs.push(() => at); await gate('w'); w++; }
do { fs.push(() => 'do'); } while (await gate(false));
fs.map((f) => f()).concat(fs.slice(0, 3).map((f) => f()));

const a = [1, , 3];
a[50] = 'far'; a.extra = 'prop';
await gate(0);
delete a[0];
a.length = 60;
await gate(0);
[1 in a, 0 in a, a.length, Object.keys(a), a.indexOf('far'), a.flat().length];

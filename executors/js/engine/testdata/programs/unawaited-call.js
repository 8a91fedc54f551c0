gate('nobody waits');
await gate(1);
free('nor here');
await gate(2);
'end';

// attack: an effect hidden in a promise that is dropped
// want: failed UnawaitedCall
// cpu: 5000
// bridges: echo
(async () => { await echo(1); echo(2) })(); await echo(3); 1

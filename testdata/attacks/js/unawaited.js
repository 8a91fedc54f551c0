// attack: an effect that the program does not wait for
// want: failed UnawaitedCall
// cpu: 5000
// bridges: echo
// calls: 0
echo('drop table'); 1

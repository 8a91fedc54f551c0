// attack: a result over its limit
// want: limit ResultTooLarge
// cpu: 5000
// memory: 33554432
'x'.repeat(2 << 20)

// attack: one request for a gigabyte
// want: failed RangeError
// cpu: 5000
new ArrayBuffer(2 ** 40)

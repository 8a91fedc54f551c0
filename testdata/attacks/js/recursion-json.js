// attack: recursion inside JSON.parse
// want: failed
// cpu: 5000
JSON.parse('['.repeat(200000))

// attack: a result that is no value
// want: failed ArgumentError
// cpu: 5000
({ a: { b: [1, () => 1] } })

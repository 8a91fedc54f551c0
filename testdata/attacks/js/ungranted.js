// attack: reaching for a bridge that is not granted
// want: failed ReferenceError
// cpu: 5000
// bridges: echo
await sendEmail('all my secrets')

// attack: a dynamic import of a module that is not allowed
// want: denied ImportDenied
// cpu: 5000
await import('left' + 'pad')

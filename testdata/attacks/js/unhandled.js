// attack: a rejection that nobody handles
// want: failed Error
// cpu: 5000
Promise.reject(new Error('lost')); 1

// attack: ten megabytes of console output
// want: done 1
// cpu: 5000
for (let i = 0; i < 200; i++) console.log("x".repeat(50000))
1

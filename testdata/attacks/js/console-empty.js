// attack: a hundred thousand empty console lines
// want: done 1
// cpu: 5000
for (let i = 0; i < 20000; i++) console.log()
1

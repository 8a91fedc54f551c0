// want: done "import x from y"
const s = 'import x from y'
s

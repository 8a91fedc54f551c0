// want: done "hello ann"
// inputs: {"name":"ann"}
`hello ${inputs.name}`

// want: done ["q"]
// bridges: tools.search
await tools.search('q')

// attack: importing the modules other builds of the engine carry
// want: done ["ImportDenied","ImportDenied","ImportDenied","ImportDenied","ImportDenied","ImportDenied"]
// cpu: 5000
const out = []
for (const m of ['qjs:std', 'qjs:os', 'std', 'fs', '/etc/passwd', '../../../etc/passwd']) {
  try { out.push(Object.keys(await import(m))) } catch (e) { out.push(e.name) }
}
out

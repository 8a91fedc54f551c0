// want: done ["B",5,"v1"]
enum E { A, B = 5 }
namespace N { export const z: number = E.B }
interface Shape { kind: string }
function dec(value: unknown, ctx: ClassMethodDecoratorContext) { return function (this: any) { return 'v1' } as any }
class K { @dec m(): string { return 'v0' } }
const s = { kind: 'x' } satisfies Shape
;[E[5], N.z, new K().m()]

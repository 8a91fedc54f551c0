enum Level { Low = 1, High = Low << 3 }
namespace Box { export const name: string = 'box'; }
interface Item { id: number; level?: Level }
abstract class Store<T extends Item> {
  protected items = new Map<number, T>();
  constructor(private readonly name: string) { }
  async put(item: T): Promise<this> { this.items.set(await gate(item.id) as number, item); return this; }
  abstract describe(): string;
}
class Named extends Store<Item> { describe() { return [...this.items.values()].map((i) => Level[i.level ?? Level.Low]).join(); } }
const s = await new Named('n').put({ id: 1, level: Level.High } satisfies Item);
await s.put({ id: 2 });
[s.describe(), Box.name, Level.High as number];

const it = Iterator.from([1, 2, 3, 4, 5, 6]).filter((x) => x % 2).map((x) => x * 10);
const first = it.next().value;
await gate(0);
const second = it.next().value;
const taken = [10, 20, 30].values().take(2);
await gate(0);
[first, second, [...it], taken.toArray(), [1, 2].values().flatMap((x) => [x, x]).drop(1).toArray()];

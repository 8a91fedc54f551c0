const shared = { n: 0 }, left = { shared }, right = { shared, list: [shared, shared] };
left.self = left;
await gate(0);
left.shared.n++;
right.list[1].n += 10;
await gate(0);
[shared.n, right.list[0] === left.shared, left.self === left, right.list[0] === right.list[1]];

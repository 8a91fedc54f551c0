let target = { name: 'kept' };
const ref = new WeakRef(target);
await gate(0);
const same = ref.deref() === target;
await gate(0);
[same, ref.deref().name];

const log = [];
class Base { static kind = 'base'; static { log.push('base ' + this.kind); } who() { return 'base'; } }
await gate(0);
class Derived extends Base { static { log.push('derived ' + super.kind); } who() { return 'derived of ' + super.who(); } }
const d = new Derived();
await gate(0);
[log, d.who(), d instanceof Base, Derived.kind];

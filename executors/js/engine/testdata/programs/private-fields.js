class Account {
  #balance = 0;
  static #count = 0;
  static made() { return Account.#count; }
  constructor() { Account.#count++; }
  #check(n) { if (n < 0) throw new RangeError('negative'); }
  get balance() { return this.#balance; }
  add(n) { this.#check(n); this.#balance += n; return this; }
  static is(x) { return #balance in x; }
}
const a = new Account().add(5);
await gate(0);
a.add(7);
let caught = '';
try { a.add(-1); } catch (e) { caught = e.message; }
await gate(0);
[a.balance, Account.made(), Account.is(a), Account.is({}), caught];

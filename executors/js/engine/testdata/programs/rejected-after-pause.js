const at = async (what) => { try { await what(); return 'no'; } catch (e) { return [e.name, e.message, e instanceof Error, e instanceof ApprovalDenied]; } };
[await at(() => refuse('one')), await at(async () => { await gate(0); throw new RangeError('own'); }), await at(async () => { try { await refuse('two'); } finally { await gate(0); } })];

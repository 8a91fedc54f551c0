await gate(1).then((v) => { throw new SyntaxError('thrown ' + v); });

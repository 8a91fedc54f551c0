// want: done {"m":{"$ringd":"map","value":[[1,"a"]]},"s":{"$ringd":"set","value":[1]},"b":{"$ringd":"bigint","value":"12"},"u":{"$ringd":"undefined"}}
({ m: new Map([[1, 'a']]), s: new Set([1]), b: 12n, u: undefined })

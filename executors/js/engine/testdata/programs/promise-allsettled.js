const r = await Promise.allSettled([gate(1), refuse('no'), free(2), Promise.reject(new TypeError('own')), gate(3)]);
r.map((x) => x.status === 'fulfilled' ? x.value : [x.reason.name, x.reason.message]);

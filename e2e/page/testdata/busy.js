// Has muster tell of a working day, beside what it tells of the pods and nodes of a dump: of gangs that were planned, of
// classes, plans and the last hour.
(async () => {
  const told = await (await fetch('debug/gangs', { headers: { Accept: 'application/json' } })).json();
  const gangs = told.gangs.map((gang, i) => ({ ...gang, found: i % 3 === 0 ? gang.lacking - 1 : 0 }));
  gangs.push({
    gang: 'ml/evaluation', label: 'l', minMember: 8, priority: 0, bound: 8, binding: 0, held: 0, placed: 0, pending: 0, succeeded: 0, failed: 0,
    lacking: 0, ready: 0,
  });
  fake['debug/gangs'] = { body: { gangs } };
  fake['debug/equivalence'] = { body: { classes: Array.from({ length: 15 }, (_, i) => ({
    class: 'hash-' + i, profile: 'default-scheduler', firstPod: 'shop/checkout-7d9f8c6b5-' + i, controller: 'uid', calls: 900 - 40 * i, hits: 890 - 50 * i,
    judged: 40, fitting: 3 * i, bytes: 2 ** (8 + i), pods: ['shop/checkout-7d9f8c6b5-' + i], present: i % 2 ? ['shop/checkout-7d9f8c6b5-' + i] : [],
    owner: i % 4 ? { kind: 'ReplicaSet', namespace: 'shop', name: 'checkout-with-a-long-name-7d9f8c6b5' + i } : undefined,
  })) } };
  const now = Date.now();
  fake['debug/history'] = { body: { minutes: Array.from({ length: 60 }, (_, i) => ({
    end: new Date(now - 60000 * (59 - i)).toISOString(), podsWaiting: Math.round(60 + 50 * Math.sin(i / 9)), gangsWaiting: 3 + i % 7,
    podsBound: (i * 7919) % 90, calls: 4000 + (i * 104729) % 3000, failedCalls: i > 40 && i < 44 ? 12 : 0,
  })) } };
  fake['debug/plans'] = { body: { plans: [{
    plan: 'makeroom-20261128-1', phase: 'Pending', mode: 'Approve', policy: 'MakeRoom', created: '2026-11-28T10:00:00Z',
    beneficiaries: [{ pod: 'ml/llama-70b-pretraining-2026-11-workers-0-0', node: 'ip-10-0-0-1.eu-central-1.compute.internal' }],
    steps: ['checkout-7d9f8c6b5-1', 'checkout-7d9f8c6b5-2'].map((pod, i) => ({
      pod: 'shop/' + pod, from: 'ip-10-0-0-' + (i + 1) + '.eu-central-1.compute.internal', to: 'ip-10-0-0-' + (i + 7) + '.eu-central-1.compute.internal',
      phase: 'Waiting', why: 'makes room for ml/llama-70b-pretraining-2026-11-workers-0-0',
    })),
  }] } };
  window.pretending = true;
})().catch((error) => { window.pretending = String(error); }), true

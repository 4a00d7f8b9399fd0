// Has 5,000 nodes in 300 racks be drawn that have all changed, nine times in each of four ways. The medians are in window.redrawn, or what went wrong.
(async () => {
  const { Cluster } = await import(new URL('page/cluster.js', document.baseURI));
  const cluster = new Cluster(() => {});
  const nodes = (round) => Array.from({ length: 5000 }, (_, i) => ({
    node: 'node-' + i, zone: 'z' + i % 7, labels: { block: 'b' + i % 10, rack: 'r' + i % 300 }, allocatable: { cpu: 64000, memory: 2 ** 38, pods: 110, extended: { 'nvidia.com/gpu': 8 } },
    requested: {
      cpu: (i * 7919 + round * 31337) % 64000, memory: 2 ** 30 * ((i + round) % 256), pods: (i + round) % 110,
      extended: { 'nvidia.com/gpu': (i + round) % 9 },
    },
  }));
  const time = (view) => {
    Object.assign(cluster.view, view);
    const networks = view.group === '' || view.group === 'zone' ? [] : [[['block'], ['block', 'rack']]];
    cluster.set(nodes(0), networks);
    const rounds = [];
    for (let round = 1; round <= 9; round++) {
      const answer = nodes(round);
      const began = performance.now();
      cluster.set(answer, networks);
      document.body.getBoundingClientRect();
      rounds.push(performance.now() - began);
    }
    return rounds.sort((a, b) => a - b)[4];
  };
  const took = [time({ group: '' }), time({ group: 'zone' }), time({ order: 'share', group: '' }), time({ order: 'name', group: 'level:block,rack' })];
  const blocks = document.querySelectorAll('#heat .blocks > div').length;
  const made = document.querySelectorAll('#heat-table tbody tr').length;
  window.redrawn = made < 500 && blocks === 300 ? took : [made, blocks];
})().catch((error) => { window.redrawn = [String(error)]; }), true

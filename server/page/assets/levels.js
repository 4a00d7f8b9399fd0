// Levels of a network: blocks, racks and the like, by labels of nodes. A domain is the values of all keys of its level, so that
// racks of one name in two blocks are two.

const without = 'without'; // is shown where a node lacks a label

// levelsOf are the levels of networks, the uppermost first: each with a value for a control, its keys and a text.
export function levelsOf(networks) {
  const levels = new Map();
  for (const keys of networks.flat()) levels.set(valueOf(keys), keys);
  const twice = (key) => [...levels.values()].filter((keys) => keys.at(-1) === key).length > 1;
  return [...levels].map(([value, keys]) =>
    ({ value, keys, text: keys.length > 1 && twice(keys.at(-1)) ? `${keys.at(-1)} in ${keys.slice(0, -1).join(', ')}` : keys.at(-1) }));
}

// lowestOf is the value of the lowest level of the first network, '' if there is none.
export const lowestOf = (networks) => (networks.length > 0 ? valueOf(networks[0].at(-1)) : '');

// No key of a label has a colon.
const valueOf = (keys) => `level:${keys.join()}`;

// blocksOf are the domains of a level that nodes are in, { path, nodes }, by their paths: those of the nodes that lack a label last.
export function blocksOf(nodes, keys) {
  const blocks = new Map();
  for (const one of nodes) {
    const values = keys.map((key) => one.node.labels?.[key]);
    const at = values.map((value) => value ?? '?').join('/'); // no value of a label has one of these
    if (!blocks.has(at)) blocks.set(at, { values, nodes: [] });
    blocks.get(at).nodes.push(one);
  }
  return [...blocks.values()].sort((a, b) => byPath(a.values, b.values))
    .map(({ values, nodes: all }) => ({ path: values.map((value) => value ?? without), nodes: all }));
}

function byPath(a, b) {
  for (let i = 0; i < a.length; i++) {
    const order = (a[i] === undefined) - (b[i] === undefined) || (a[i] === undefined ? 0 : byNumber.compare(a[i], b[i]));
    if (order !== 0) return order;
  }
  return 0;
}

// byNumber has worker-2 before worker-10.
export const byNumber = new Intl.Collator('en', { numeric: true });

// One pod, explained: where it is or why it waits, and what is for and against each node.

import { element, scrolled, table } from './element.js';
import { link } from './opened.js';
import { count } from './units.js';

const best = 5; // nodes that fit

const path = (pod) => `debug/explain?pod=${encodeURIComponent(pod)}`;

export const openedPod = { path, draw: explained };

function explained(told, pod) {
  const why = element('p', { class: 'why' }, `It ${told.summary}.`);
  if (told.noProfile) return [why];
  const refusals = new Map(); // how many nodes, by what is against them
  for (const { against } of told.nodes) {
    for (const { predicate, reason } of against ?? []) {
      const key = JSON.stringify([predicate, reason]);
      refusals.set(key, (refusals.get(key) ?? 0) + 1);
    }
  }
  const refused = [...refusals].sort((a, b) => b[1] - a[1]).map(([key, nodes]) => [...JSON.parse(key), count(nodes)]);
  const fitting = told.nodes.filter((node) => node.fits).slice(0, best);
  return [
    why,
    element('p', { class: 'counts' }, `Profile ${told.profile}: fits on ${count(told.fitting)} of ${count(told.nodes.length)} nodes. `,
      element('a', { href: `${path(pod)}&format=text` }, 'Every node')),
    element('div', { class: 'columns' },
      refused.length > 0 && element('div', { 'data-key': 'against' },
        scrolled('What is against nodes', table('What is against nodes', ['Refused by', 'Because', '#Nodes'], refused))),
      fitting.length > 0 && element('div', { 'data-key': 'best' },
        scrolled('The best nodes', table('The best nodes', ['Node', '#Score'], fitting.map((node) => [link('node', node.node), count(node.total)]))))),
  ];
}

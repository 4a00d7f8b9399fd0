// One node: its figures, and what is on it.

import { bar, element, scrolled, table } from './element.js';
import { link } from './opened.js';
import { amount, amountOf, extendedOf, shareOf, wordFor } from './resources.js';
import { count, level, percent } from './units.js';

// figuresOf are the figures of a node. A large cluster has many; they are drawn for the one that is pointed at.
function figuresOf(node) {
  const figure = (resource, measure) => {
    const share = shareOf(node, measure, resource);
    return element('div', {},
      element('dt', {}, `${wordFor(resource)} ${measure}`),
      element('dd', {}, bar(share, level(share) === 10 ? 10 : 6), element('strong', {}, percent(share)),
        node[measure] ? ` ${amount(resource, amountOf(node[measure], resource))} of ${amount(resource, amountOf(node.allocatable, resource))}` : ' not measured'));
  };
  return element('dl', {}, figure('cpu', 'requested'), figure('memory', 'requested'), figure('cpu', 'used'), figure('memory', 'used'),
    element('div', {}, element('dt', {}, 'pods'),
      element('dd', {}, element('strong', {}, count(node.requested.pods ?? 0)), ` of ${count(node.allocatable.pods ?? 0)}`)),
    extendedOf([node]).map((name) => figure(name, 'requested')));
}

// pointedAt tells of the node that is pointed at: its figures, unless they stand below, where it is opened.
export const pointedAt = (node, opened) => [
  element('h3', {}, link('node', node.node),
    element('small', {}, ` ${[node.zone, node.rack, node.pool, node.unschedulable && 'cordoned'].filter(Boolean).join(', ')}`)),
  opened ? element('p', { class: 'hint' }, 'Its figures, and what is on it, are below.') : figuresOf(node),
];

// openedNode shows what is on a node, by its name.
export const openedNode = { path: (name) => `debug/nodes/${encodeURIComponent(name)}`, draw: contents };

function contents(node) {
  const where = ['zone', 'rack', 'pool'].filter((one) => node[one]).map((one) => `${one} ${node[one]}`);
  if (node.unschedulable) where.push('cordoned');
  const extended = extendedOf([node]);
  const rows = node.pods.map((pod) => [pod.as === 'reserved' ? `room for ${pod.pod}` : link('pod', pod.pod), amount('cpu', pod.requested.cpu), amount('memory', pod.requested.memory),
    ...extended.map((resource) => count(pod.requested.extended?.[resource] ?? 0)), count(pod.priority ?? 0), pod.as]);
  return [
    where.length > 0 && element('p', { class: 'counts' }, where.join(', ')),
    figuresOf(node),
    node.taints.length > 0 && element('p', { class: 'counts' }, `Taints: ${node.taints.join(', ')}`),
    rows.length > 0
      ? scrolled('Pods that count on it', table('Pods that count on it', ['Pod', '#CPU', '#Memory', ...extended.map((resource) => `#${resource}`), '#Priority', 'As'], rows))
      : element('p', { class: 'empty' }, 'No pod is on it.'),
  ].filter(Boolean);
}

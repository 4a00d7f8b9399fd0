// Equivalence classes: what is remembered, and how often that was of use.

import { bar, element, frame, row, scrolled, table } from './element.js';
import { namespaceOf, none } from './filter.js';
import { link } from './opened.js';
import { bytes, count, percent } from './units.js';
import { update } from './update.js';

const shown = 12;

const heads = ['Pods of', '#Calls', '#Remembered', '#Nodes that fit', '#Memory'];

export function hitRate(classes) {
  const sum = (what) => classes.reduce((total, one) => total + one[what], 0);
  return sum('hits') / sum('calls');
}

// nameOf is what the pods of a class are of: their controller, or else one that is there still.
const nameOf = ({ owner, present }) => (owner ? `${owner.kind} ${owner.namespace}/${owner.name}` : present[0] ?? 'pods that are gone');

export const takesClass = (filter, one) => filter.takes(namespaceOf(one.firstPod), nameOf(one), one.profile, ...one.present);

export function drawClasses(into, answer, filter) {
  if (answer instanceof Error) {
    update(into, element('p', { class: 'empty' }, answer.message));
    return;
  }
  const classes = answer.classes.filter((one) => takesClass(filter, one));
  if (answer.classes.length > 0 && classes.length === 0) {
    update(into, none(filter, answer.classes.length));
    return;
  }
  if (classes.length === 0) {
    update(into, element('p', { class: 'empty' },
      'Nothing is remembered yet. Pods of one controller share their verdicts: a node that was asked about for one of them costs the others a look-up. Scale a Deployment up to see it.'));
    return;
  }
  const rows = classes.toSorted((a, b) => b.calls - a.calls).slice(0, shown).map((one) => row(heads, [
    element('span', {}, link('class', one.class, nameOf(one)), element('small', {}, one.profile, one.present.length === 0 && ', all gone that were asked about')),
    count(one.calls),
    element('span', { class: 'rate' }, bar(one.hits / one.calls, 6), percent(one.hits / one.calls)),
    `${count(one.fitting)} of ${count(one.judged)}`,
    bytes(one.bytes),
  ], { 'data-key': one.class }));
  const caption = classes.length > shown ? `The ${shown} that are asked for most, of ${count(classes.length)}` : 'By how often they are asked for';
  update(into, scrolled('Table of classes', frame(caption, heads, element('tbody', {}, rows))));
}

const path = (hash) => `debug/equivalence/${encodeURIComponent(hash)}`;

// openedClass shows what is remembered of a class, by its hash.
export const openedClass = { path, draw: remembered };

function remembered(told, hash) {
  const reasons = new Map(); // how many nodes, by what is against them
  for (const { fits, reason } of told.nodes) if (!fits) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  const against = [...reasons].sort((a, b) => b[1] - a[1]).map(([reason, nodes]) => [reason, count(nodes)]);
  const gone = told.pods.length - told.present.length;
  return [
    element('p', { class: 'counts' }, told.owner ? `Pods of ${nameOf(told)}` : 'Pods',
      told.present.length > 0 && [', such as ', ...told.present.flatMap((pod, i) => [i > 0 && ', ', link('pod', pod)])],
      gone > 0 && `, ${count(gone)} that were asked about are gone`,
      `, profile ${told.profile}: ${count(told.calls)} calls, and ${count(told.hits)} of them found it remembered; `,
      `${count(told.fitting)} of ${count(told.nodes.length)} nodes that were asked about fit. `,
    element('a', { href: `${path(hash)}?format=text` }, 'Every node')),
    against.length > 0 && scrolled('What is against nodes', table('What is against nodes', ['First reason', '#Nodes'], against)),
  ].filter(Boolean);
}

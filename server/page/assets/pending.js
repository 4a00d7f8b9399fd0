// Pending pods by what they wait for, most of them first.

import { element } from './element.js';
import { link } from './opened.js';
import { count } from './units.js';
import { update } from './update.js';

const shown = 100; // of reasons, and of the pods that wait for the same

export function drawPending(into, answer) {
  if (answer instanceof Error) {
    update(into, element('p', { class: 'empty' }, answer.message));
    return;
  }
  const reasons = new Map();
  for (const { pod, why } of answer.pods) {
    if (!reasons.has(why)) reasons.set(why, []);
    reasons.get(why).push(pod);
  }
  if (reasons.size === 0) {
    update(into, element('p', { class: 'empty' }, 'No pod waits.'));
    return;
  }
  const sorted = [...reasons].sort(([why, pods], [otherWhy, others]) => others.length - pods.length || why.localeCompare(otherWhy));
  update(into, ...sorted.slice(0, shown).map(([why, pods]) => reason(why, pods)),
    ...(sorted.length > shown ? [element('p', { class: 'empty' }, `and ${count(sorted.length - shown)} more reasons`)] : []));
}

function reason(why, pods) {
  const links = pods.slice(0, shown).map((pod) => element('li', { 'data-key': pod }, link('pod', pod)));
  const more = pods.length - links.length;
  return element('details', { 'data-key': why },
    element('summary', {}, element('strong', {}, count(pods.length)), ` ${why}`),
    element('ul', { class: 'names' }, links, more > 0 && element('li', {}, `and ${count(more)} more`)));
}

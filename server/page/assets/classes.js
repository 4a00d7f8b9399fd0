// Equivalence classes: what is remembered, and how often that was of use.

import { bar, element, table } from './element.js';
import { bytes, count, percent } from './units.js';

const shown = 12;

export function hitRate(classes) {
  const sum = (what) => classes.reduce((total, one) => total + one[what], 0);
  return sum('hits') / sum('calls');
}

export function drawClasses(into, answer, nodes) {
  if (answer instanceof Error) {
    into.replaceChildren(element('p', { class: 'empty' }, answer.message));
    return;
  }
  const { classes } = answer;
  if (classes.length === 0) {
    into.replaceChildren(element('p', { class: 'empty' },
      'Nothing is remembered yet. Pods of one controller share their verdicts: the first is judged on every node, and those after it cost a look-up. Scale a Deployment up to see it.'));
    return;
  }
  const rows = classes.toSorted((a, b) => b.calls - a.calls).slice(0, shown).map((one) => [
    element('span', {}, element('a', { href: `debug/equivalence/${one.class}` }, one.firstPod), element('small', {}, one.profile)),
    count(one.calls),
    element('span', { class: 'rate' }, bar(one.hits / one.calls, 6), percent(one.hits / one.calls)),
    nodes > 0 ? `${count(one.fitting)} of ${count(nodes)}` : count(one.fitting),
    bytes(one.bytes),
  ]);
  const caption = classes.length > shown ? `The ${shown} that are asked for most, of ${count(classes.length)}` : 'By how often they are asked for';
  into.replaceChildren(element('div', { class: 'scroll' }, table(caption, ['First pod', '#Calls', '#Remembered', '#Nodes that fit', '#Memory'], rows)));
}

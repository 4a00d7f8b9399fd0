// One pod, explained in place. Which one is in the URL, so that it can be sent to somebody.

import { element, table } from './element.js';
import { count } from './units.js';

const best = 5; // nodes that fit

// hashOf is the URL of the explanation of a pod, from anywhere on the page.
export const hashOf = (pod) => `#pod=${encodeURIComponent(pod)}`;

export class Explainer {
  constructor(into, form) {
    Object.assign(this, { into, form, asked: 0 });
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      const pod = form.elements.pod.value.trim();
      if (location.hash === hashOf(pod)) this.follow(); // asked again
      else location.hash = hashOf(pod);
    });
    addEventListener('hashchange', () => this.follow());
    this.follow();
  }

  // follow explains the pod that the URL names.
  async follow() {
    const pod = new URLSearchParams(location.hash.slice(1)).get('pod');
    const asked = ++this.asked;
    if (!pod) {
      this.into.replaceChildren();
      return;
    }
    this.form.elements.pod.value = pod;
    const drawn = await explain(pod);
    if (asked !== this.asked) return; // another one was asked about meanwhile
    this.into.replaceChildren(...drawn);
    this.into.scrollIntoView({ block: 'nearest' });
  }
}

// explain asks about a pod, and draws the answer.
async function explain(pod) {
  const path = `debug/explain?pod=${encodeURIComponent(pod)}`;
  try {
    const answer = await fetch(path, { headers: { Accept: 'application/json' }, cache: 'no-store' });
    const told = await answer.json();
    return answer.ok ? draw(told, path) : [element('p', { class: 'empty' }, told.error ?? answer.statusText)];
  } catch {
    return [element('p', { class: 'empty' }, 'muster cannot be reached.')];
  }
}

function draw(told, path) {
  const close = element('a', { href: '#' }, 'close');
  const head = [element('h3', {}, told.pod, element('small', {}, ' ', close)), element('p', { class: 'why' }, `It ${told.summary}.`)];
  if (told.noProfile) return head;
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
    ...head,
    element('p', { class: 'counts' }, `Profile ${told.profile}: fits on ${count(told.fitting)} of ${count(told.nodes.length)} nodes. `,
      element('a', { href: `${path}&format=text` }, 'Every node')),
    element('div', { class: 'columns' },
      refused.length > 0 && element('div', { class: 'scroll' }, table('What is against nodes', ['Refused by', 'Because', '#Nodes'], refused)),
      fitting.length > 0 && element('div', { class: 'scroll' }, table('The best nodes', ['Node', '#Score'], fitting.map((node) => [node.node, count(node.total)])))),
  ];
}

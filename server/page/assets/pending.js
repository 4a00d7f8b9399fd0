// Pending pods by what owns them, and for what they wait: most of them first. A Job of a hundred pods is one line.

import { element } from './element.js';
import { namespaceOf, none } from './filter.js';
import { link } from './opened.js';
import { earliest, elapsed, waits } from './times.js';
import { count } from './units.js';
import { update } from './update.js';

const shown = 100; // of owners
const named = 8; // of what is told of one

export const takesPod = (filter, pod) =>
  filter.takes(namespaceOf(pod.pod), pod.pod, pod.why, ...(pod.owners ?? []).map(({ kind, name }) => `${kind} ${name}`));

export function drawPending(into, answer, filter) {
  if (answer instanceof Error) {
    update(into, element('p', { class: 'empty' }, answer.message));
    return;
  }
  const pods = answer.pods.filter((pod) => takesPod(filter, pod));
  if (pods.length === 0) {
    update(into, none(filter, answer.pods.length, 'No pod waits.'));
    return;
  }
  const owners = [...Map.groupBy(pods, ownerOf)].sort(([a, some], [b, others]) => others.length - some.length || a.localeCompare(b));
  update(into, ...owners.slice(0, shown).map(([owner, some]) => owned(owner, some)),
    ...(owners.length > shown ? [element('p', { class: 'empty' }, `and ${count(owners.length - shown)} more: the filter finds them`)] : []));
}

// ownerOf tells pods of one highest owner from others. Pods without an owner stand together if they wait for the same.
function ownerOf({ pod, owners, why }) {
  const top = owners?.at(-1);
  const namespace = namespaceOf(pod);
  return top ? `${top.kind} ${namespace}/${top.name}` : JSON.stringify([namespace, why]);
}

// owned is a line about an owner, which opens: what it owns in turn, and one pod of each.
function owned(owner, pods) {
  const reasons = [...Map.groupBy(pods, ({ why }) => why)].sort((a, b) => b[1].length - a[1].length);
  const parts = [...Map.groupBy(pods, partOf)];
  const since = earliest(pods.map(({ created }) => created));
  const isOwned = pods[0].owners?.length > 0;
  return element('details', { 'data-key': owner },
    element('summary', {},
      element('strong', {}, count(pods.length)), pods.length === 1 ? ' pod' : ' pods', isOwned ? ' of ' : ' without an owner in ', element('b', {}, isOwned ? owner : namespaceOf(pods[0].pod)),
      ...(since ? [', for ', elapsed(since)] : []),
      element('span', { class: 'because' }, reasons[0][0], reasons.length > 1 && ` (and ${count(reasons.length - 1)} more ${reasons.length === 2 ? 'reason' : 'reasons'})`)),
    element('ul', { class: 'owned' },
      parts.slice(0, named).map(([key, some]) => part(key, some, reasons.length > 1)),
      parts.length > named && element('li', {}, `and ${count(parts.length - named)} more: the filter finds them by their names`)));
}

// partOf names what of an owner pods are, and for what they wait: pods of a Job of it, or a single pod.
const partOf = ({ pod, owners, why }) => JSON.stringify(owners?.length > 0 ? [owners.slice(0, -1).reverse().map(({ kind, name }) => `${kind} ${name}`).join(', '), why] : [pod]);

function part(key, pods, tellsWhy) {
  const [{ pod, owners, why }] = pods;
  const [of] = JSON.parse(key);
  return element('li', { 'data-key': owners?.length > 0 ? key : pod },
    owners?.length > 1 && `${of}: `, link('pod', pod), pods.length > 1 && ` and ${count(pods.length - 1)} alike`,
    element('small', {}, ' ', waits(earliest(pods.map(({ created }) => created)))),
    tellsWhy && element('span', { class: 'because' }, why));
}

// Gangs: the waiting ones in the order in which they are planned, since when and why they wait, how much is missing; and how far
// their members are.

import { element, scrolled, table } from './element.js';
import { namespaceOf, none } from './filter.js';
import { link } from './opened.js';
import { exactly, waits } from './times.js';
import { count, percent } from './units.js';
import { update } from './update.js';

const shown = 50; // of the gangs that wait

const stages = ['bound', 'binding', 'held', 'placed', 'pending'];

export const takesGang = (filter, gang) => filter.takes(namespaceOf(gang.gang), gang.gang, gang.why ?? '', gang.note ?? '', gang.label ?? '');

export function drawGangs(into, answer, filter) {
  if (answer instanceof Error) {
    update(into, element('p', { class: 'empty' }, answer.message));
    return;
  }
  const { gangs, booked } = answer;
  const queue = gangs.filter((gang) => gang.why).map((gang, i) => ({ gang, turn: i + 1 }));
  const waiting = queue.filter(({ gang }) => takesGang(filter, gang));
  const others = gangs.filter((gang) => !gang.why && takesGang(filter, gang));
  update(
    into,
    ...(gangs.length === 0 ? [teach()] : []),
    ...(booked ? [room(booked)] : []),
    ...(gangs.length > 0 && waiting.length === 0 ? [none(filter, queue.length, 'No gang waits.')] : []),
    ...(waiting.length > 0 ? [
      element('p', { class: 'hint' }, 'In the order in which they are planned'),
      element('ol', { class: 'gangs' }, waiting.slice(0, shown).map(({ gang, turn }) => card(gang, turn))),
    ] : []),
    ...(waiting.length > shown ? [element('p', { class: 'empty' }, `and ${count(waiting.length - shown)} more: the filter finds them`)] : []),
    ...(others.length > 0 ? [running(others)] : []),
  );
}

// room says for whom room is booked, from when, and what that keeps idle.
function room({ gang, pods, nodes, from, idlePods, idleShare }) {
  return element('p', { class: 'booked', 'data-key': 'booked' },
    'Room is booked for ', link('gang', gang), `: ${count(pods)} ${pods === 1 ? 'pod' : 'pods'} on ${count(nodes)} ${nodes === 1 ? 'node' : 'nodes'}, from `,
    element('time', { datetime: from }, exactly(from)), '. ',
    idlePods > 0 ? `It keeps room for ${count(idlePods)} of them idle now, ${percent(idleShare)} of the cluster.` : 'It keeps nothing idle now.');
}

// openedGang is the members of a gang, by namespace/name.
export const openedGang = {
  path(gang) {
    const [namespace, name] = gang.split('/');
    return `debug/gangs/${encodeURIComponent(namespace)}/${encodeURIComponent(name ?? '')}`;
  },
  draw: members,
};

function members({ gangs }, gang) {
  const [namespace] = gang.split('/');
  return gangs.flatMap((one) => [
    element('p', { class: one.why ? 'why' : 'counts' }, one.why || 'It does not wait.'),
    ...progress({ ...one, found: one.places?.found ?? one.found }),
    element('p', { class: 'counts' }, `${count(one.minMember)} must start together; members have the label ${one.label}.`, one.since && [' It ', waits(one.since), '.']),
    ...(one.places ? [places(one.places)] : []),
    scrolled('Members', table('Members', ['Pod', 'Stage', 'Node', '#For, s'], one.members.map((member) =>
      [link('pod', `${namespace}/${member.pod}`, member.pod), member.stage, member.node ? link('node', member.node) : '–', count(Math.round(member.ageSeconds))]))),
  ]);
}

// places says how many members would get a place now, and what is against the first one that would not.
function places({ wanted, found, short, against = [] }) {
  const said = `Now there are places for ${count(found)} of ${count(wanted)} that need one${short > 0 ? `: ${count(short)} short` : ''}.`;
  if (against.length === 0) return element('p', { class: 'counts' }, said);
  return scrolled('Places', table(said, ['What is against nodes', '#Nodes'], against.map(({ reason, nodes }) => [reason, count(nodes)])));
}

function card(gang, turn) {
  return element('li', { 'data-key': gang.gang },
    element('h3', {}, element('span', { class: 'turn' }, `${count(turn)}.`), ' ', link('gang', gang.gang),
      element('small', {}, ` ${count(gang.minMember)} must start together${gang.priority ? `, priority ${gang.priority}` : ''}`)),
    element('p', { class: 'why' }, gang.why),
    progress(gang),
    gang.since && element('p', { class: 'counts' }, waits(gang.since)));
}

// progress draws how far members are, and says it in numbers. A member without a place for which the last plan has found one is
// told from one for which it has not: the place is not kept, as others have none.
function progress(gang) {
  const found = Math.min(gang.found ?? 0, gang.pending);
  const missing = gang.missing ?? 0;
  const parts = [
    ...stages.slice(0, -1).map((stage) => ({ stage, members: gang[stage], said: stage })),
    { stage: 'found', members: found, said: 'would have a place' },
    { stage: 'pending', members: gang.pending - found, said: found > 0 ? 'without one' : 'pending' },
    { stage: 'missing', members: missing, said: 'to be created' },
  ].filter(({ members: some }) => some > 0);
  const drawn = parts.map(({ stage, members: some }) => {
    const one = element('span', { 'data-stage': stage });
    one.style.flexGrow = some;
    return one;
  });
  return [
    element('div', { class: 'stages', 'aria-hidden': 'true' }, drawn),
    element('p', { class: 'counts' }, parts.map(({ stage, members: some, said }, i) => [i > 0 && ' · ', element('span', { class: 'key', 'data-stage': stage, 'aria-hidden': 'true' }), `${count(some)} ${said}`]).flat()),
    lacks(gang),
  ].filter(Boolean);
}

// lacks says how many more members must get a place before any starts, and how many of them may.
function lacks({ lacking, minMember, ready, gated, claimless, resting, missing, leaving }) {
  if (!lacking) return null;
  const what = [[ready, 'ready'], [resting, 'refused a moment ago'], [gated, 'held back by gates of others'], [claimless, 'without their ResourceClaims'], [missing, 'to be created'], [leaving, 'being deleted, which do not count']]
    .filter(([members]) => members > 0).map(([members, how]) => `${count(members)} ${how}`);
  return element('p', { class: 'counts lacks' }, element('strong', {}, `${count(lacking)} of ${count(minMember)} members have no place yet`), what.length > 0 && `: ${what.join(', ')}`);
}

function running(gangs) {
  return element('details', {},
    element('summary', {}, `${count(gangs.length)} ${gangs.length === 1 ? 'gang does' : 'gangs do'} not wait`),
    scrolled('Gangs that do not wait', table('Gangs that do not wait', ['Gang', '#Bound', '#Succeeded', '#Failed', '#Must start'],
      gangs.map((gang) => [link('gang', gang.gang), count(gang.bound), count(gang.succeeded), count(gang.failed), count(gang.minMember)]))));
}

function teach() {
  return element('div', { class: 'empty' },
    element('p', {}, 'There are no gangs. The pods of a gang start together or not at all; two lines in a pod template make one:'),
    element('pre', { tabindex: 0, role: 'region', 'aria-label': 'Lines of a pod template' }, 'labels:\n  muster.dev/pod-group: training\nannotations:\n  muster.dev/min-member: "4"'));
}

// Gangs: the waiting ones, and why; and how far their members are.

import { element, table } from './element.js';
import { link } from './opened.js';
import { count } from './units.js';
import { update } from './update.js';

const shown = 50; // of the gangs that wait

const stages = ['bound', 'binding', 'held', 'placed', 'pending'];

export function drawGangs(into, answer) {
  if (answer instanceof Error) {
    update(into, element('p', { class: 'empty' }, answer.message));
    return;
  }
  const waiting = answer.gangs.filter((gang) => gang.why);
  const others = answer.gangs.filter((gang) => !gang.why);
  update(
    into,
    ...(answer.gangs.length === 0 ? [teach()] : []),
    ...(answer.gangs.length > 0 && waiting.length === 0 ? [element('p', { class: 'empty' }, 'No gang waits.')] : []),
    ...(waiting.length > 0 ? [element('ul', { class: 'gangs' }, waiting.slice(0, shown).map(card), waiting.length > shown && element('li', {}, `and ${count(waiting.length - shown)} more`))] : []),
    ...(others.length > 0 ? [running(others)] : []),
  );
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
    element('p', { class: 'counts' }, `${count(one.minMember)} must start together; members have the label ${one.label}.`),
    element('div', { class: 'scroll' }, table('Members', ['Pod', 'Stage', 'Node', '#For, s'], one.members.map((member) =>
      [link('pod', `${namespace}/${member.pod}`, member.pod), member.stage, member.node ? link('node', member.node) : '–', count(Math.round(member.ageSeconds))]))),
  ]);
}

function card(gang) {
  const members = stages.reduce((sum, stage) => sum + gang[stage], 0);
  const parts = stages.filter((stage) => gang[stage] > 0);
  const drawn = parts.map((stage) => {
    const part = element('span', { 'data-stage': stage });
    part.style.flexGrow = gang[stage];
    return part;
  });
  const missing = Math.max(0, gang.minMember - members);
  const rest = element('span', { 'data-stage': 'missing' });
  rest.style.flexGrow = missing;
  const said = parts.map((stage) => `${count(gang[stage])} ${stage}`);
  if (missing > 0) said.push(`${count(missing)} missing`);
  return element('li', { 'data-key': gang.gang },
    element('h3', {}, link('gang', gang.gang),
      element('small', {}, ` ${count(gang.minMember)} must start together${gang.priority ? `, priority ${gang.priority}` : ''}`)),
    element('p', { class: 'why' }, gang.why),
    element('div', { class: 'stages', 'aria-hidden': 'true' }, drawn, missing > 0 && rest),
    element('p', { class: 'counts' }, said.join(' · ')));
}

function running(gangs) {
  return element('details', {},
    element('summary', {}, `${count(gangs.length)} ${gangs.length === 1 ? 'gang does' : 'gangs do'} not wait`),
    element('div', { class: 'scroll' }, table('Gangs that do not wait', ['Gang', '#Bound', '#Succeeded', '#Failed', '#Must start'],
      gangs.map((gang) => [link('gang', gang.gang), count(gang.bound), count(gang.succeeded), count(gang.failed), count(gang.minMember)]))));
}

function teach() {
  return element('div', { class: 'empty' },
    element('p', {}, 'There are no gangs. The pods of a gang start together or not at all; two lines in a pod template make one:'),
    element('pre', {}, 'labels:\n  muster.dev/pod-group: training\nannotations:\n  muster.dev/min-member: "4"'));
}

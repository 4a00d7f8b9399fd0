// Plans of the rescheduler, drawn: a line for each node, time from left to right, and an arrow from
// node to node for each pod that moves.

import { Refused } from './ask.js';
import { element } from './element.js';
import { link } from './opened.js';
import { count } from './units.js';
import { update } from './update.js';

const lane = 34; // px between two nodes
const column = 76; // px between two moves
const top = 26;
const widest = 18; // characters of a node's name beside its line

export function drawPlans(into, answer) {
  if (answer instanceof Error) {
    update(into, element('p', { class: 'empty' }, answer.message));
    return;
  }
  if (answer.plans.length === 0) {
    update(into, element('div', { class: 'empty' },
      element('p', {}, 'There are no plans. muster reschedule looks for pods to move, so that others get a place or nodes become empty, and tells of each plan before anything moves. To see what it would do now:'),
      element('pre', {}, 'muster plan')));
    return;
  }
  const ended = (plan) => ['Succeeded', 'Failed', 'Expired'].includes(plan.phase);
  const sorted = answer.plans.toSorted((a, b) => ended(a) - ended(b) || (b.created ?? '').localeCompare(a.created ?? ''));
  update(into, ...sorted.slice(0, 20).map(card));
}

// openedPlan is one plan, which may be one of the many that ended.
export const openedPlan = {
  path: () => 'debug/plans',
  draw({ plans }, name) {
    const plan = plans.find((one) => one.plan === name);
    if (!plan) throw new Refused(`there is no plan "${name}"`, 404);
    return [card(plan)];
  },
};

function purpose(plan) {
  const who = (plan.beneficiaries ?? []).map((one) => one.pod);
  if (who.length > 0) return `makes room for ${who.slice(0, 3).join(', ')}${who.length > 3 ? ` and ${count(who.length - 3)} more` : ''}`;
  if (plan.empties?.length > 0) return `empties ${plan.empties.join(', ')}`;
  return plan.policy;
}

function card(plan) {
  const moves = plan.steps.length === 1 ? '1 move' : `${count(plan.steps.length)} moves`;
  return element('article', { class: 'plan', 'data-key': plan.plan, 'data-phase': plan.phase },
    element('h3', {}, link('plan', plan.plan), ' ', element('span', { class: 'phase' }, plan.phase)),
    element('p', {}, `${moves}: ${purpose(plan)}. Mode ${plan.mode}${plan.moved ? `, ${plan.moved} moved` : ''}${plan.message ? `. ${plan.message}` : '.'}`),
    plan.mode === 'Approve' && plan.phase === 'Pending' && approval(plan.plan),
    element('div', { class: 'moves scroll', tabindex: 0, role: 'region', 'aria-label': `Moves of plan ${plan.plan}` },
      drawing(plan),
      element('ol', {}, plan.steps.map((step) => element('li', { class: step.phase.toLowerCase() },
        `${step.pod} from ${step.from} to ${step.to}: ${step.phase.toLowerCase()}`, step.why && element('small', {}, step.why))),
      (plan.beneficiaries ?? []).map((one) => element('li', { class: 'arrival' }, `${one.pod} gets a place on ${one.node}`, one.why && element('small', {}, one.why))))));
}

// approval tells what to type to have a plan carried out. The page itself changes nothing.
function approval(name) {
  const command = `kubectl annotate reschedulingplan ${name} rescheduling.muster.dev/approve=true`;
  const copy = element('button', { type: 'button' }, 'Copy');
  copy.addEventListener('click', async () => {
    await navigator.clipboard?.writeText(command);
    copy.textContent = navigator.clipboard ? 'Copied' : 'Select it'; // which a page over plain http of another host may not
  });
  return element('div', { class: 'approval' }, element('p', {}, 'To have it carried out:'), element('code', {}, command), ' ', copy);
}

// shortened leaves out the middle of a long name: nodes differ at the end, pools at the beginning. The list has all of it.
const shortened = (name) => (name.length <= widest ? name : `${name.slice(0, 6)}…${name.slice(6 - widest + 1)}`);

function drawing(plan) {
  const arrivals = plan.beneficiaries ?? [];
  const nodes = [...new Set([...plan.steps.flatMap((step) => [step.from, step.to]), ...arrivals.map((one) => one.node), ...(plan.empties ?? [])])];
  const y = new Map(nodes.map((node, i) => [node, top + lane * (i + 0.5)]));
  const left = 24 + 7.4 * Math.max(...nodes.map((node) => shortened(node).length));
  const x = (i) => left + column * (i + 0.5);
  const width = x(plan.steps.length + arrivals.length) + 24;
  const height = top + lane * nodes.length + 12;
  const empties = new Set(plan.empties ?? []);
  return element('svg', { width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': plan.steps.map((step) => `${step.pod} from ${step.from} to ${step.to}`).join('; ') },
    nodes.map((node) => element('g', { class: empties.has(node) ? 'lane empties' : 'lane' },
      element('line', { x1: left, x2: width - 12, y1: y.get(node), y2: y.get(node) }),
      element('text', { x: left - 12, y: y.get(node) + 4, 'text-anchor': 'end' }, shortened(node) !== node && element('title', {}, node), shortened(node)))),
    plan.steps.map((step, i) => arrow(x(i), y.get(step.from), y.get(step.to), step.phase.toLowerCase(), `${i + 1}. ${step.pod}`, `${step.pod} from ${step.from} to ${step.to}, ${step.phase.toLowerCase()}`, String(i + 1))),
    arrivals.map((one, i) => arrow(x(plan.steps.length + i), top - 4, y.get(one.node), 'arrives', one.pod, `${one.pod} gets a place on ${one.node}`, '★')));
}

// arrow goes from one height to another, with a dot where it starts and a head where it ends.
function arrow(x, from, to, kind, name, title, mark) {
  const down = to > from ? 1 : -1;
  const end = to - 7 * down;
  return element('g', { class: `move ${kind}` },
    element('title', {}, title),
    element('circle', { cx: x, cy: from, r: 4 }),
    element('path', { class: 'shaft', d: `M${x},${from + 4 * down} L${x},${end}` }),
    element('path', { class: 'head', d: `M${x},${to - 1 * down} l-5,${-9 * down} h10 Z` }),
    element('text', { x: x + 9, y: (from + to) / 2 + 4, 'aria-label': name }, mark));
}

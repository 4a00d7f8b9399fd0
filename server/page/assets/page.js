// The page: what is asked, and where it is shown.

import { drawClasses, hitRate, openedClass, takesClass } from './classes.js';
import { Cluster } from './cluster.js';
import { element } from './element.js';
import { openedPod } from './explain.js';
import { Filter, namespaceOf } from './filter.js';
import { drawGangs, openedGang, takesGang } from './gangs.js';
import { Live } from './live.js';
import { openedNode } from './node.js';
import { Opened } from './opened.js';
import { drawPast } from './past.js';
import { drawPending, takesPod } from './pending.js';
import { drawPlans, openedPlan } from './plans.js';
import { amount, extendedByWeight, shareOfAll, wordFor } from './resources.js';
import { exactly, tick } from './times.js';
import { count, percent } from './units.js';
import { update } from './update.js';

const at = (id) => document.getElementById(id);
const cluster = new Cluster((node) => opened.open('node', node));
const view = ['nodes', 'pending', 'gangs', 'plans']; // what shows a change of the cluster
const opened = new Opened({
  pod: { into: at('opened-pod'), of: view, ...openedPod },
  node: { into: at('opened-node'), of: view, ...openedNode, shows: (name) => cluster.opens(name) },
  gang: { into: at('opened-gang'), of: view, ...openedGang, shows: (name, told) => cluster.marks(name, told) },
  class: { into: at('opened-class'), of: [...view, 'classes'], ...openedClass },
  plan: { into: at('opened-plan'), of: view, ...openedPlan },
});
const known = {}; // the last answers, by name
const filter = new Filter(at('filter'), () => filtered());

at('find').addEventListener('submit', (event) => {
  event.preventDefault();
  opened.open('pod', at('find-pod').value.trim());
});

// panels say what is drawn: where, from which answer, and under which title if that fails.
const panels = {
  nodes: { title: 'the cluster', into: at('cluster'), draw: (answer) => answer instanceof Error || cluster.set(answer.nodes, answer.networks) },
  pending: { title: 'pending pods', into: at('pending'), draw: (answer) => drawPending(at('pending'), answer, filter) },
  gangs: { title: 'gangs', into: at('gangs'), draw: (answer) => drawGangs(at('gangs'), answer, filter) },
  classes: {
    title: 'equivalence classes', into: at('classes'),
    draw: (answer) => drawClasses(at('classes'), answer, filter),
  },
  past: { title: 'the last hour', into: at('past'), draw: (answer) => drawPast(at('past'), answer) },
  plans: { title: 'rescheduling plans', into: at('plans'), draw: (answer) => drawPlans(at('plans'), answer) },
  status: {
    title: 'the state of muster', into: at('process'),
    draw: (answer) => answer instanceof Error || drawProcess(at('process'), answer),
  },
  summary: { title: 'the summary', into: at('summary'), draw: summary },
  matches: { title: 'what the filter takes', into: at('matches'), draw: matches },
};
const failures = new Map(); // errors of panels that could not be drawn, by name

// drawn draws a panel, and returns whether that went well. What goes wrong in one does not keep others from being drawn.
function drawn(name, answer) {
  const { into, draw } = panels[name];
  failures.delete(name);
  try {
    draw(answer);
  } catch (error) {
    failures.set(name, error);
    console.error(error);
  }
  into.classList.toggle('old', failures.has(name));
  return !failures.has(name);
}

// filtered has what the filter takes be shown.
function filtered() {
  for (const name of ['pending', 'gangs', 'classes']) if (known[name]) drawn(name, known[name]);
  drawn('matches');
  if (['live', 'dump', 'failed'].includes(document.body.dataset.state)) state(...stateOf());
}

let taken = 0; // pending pods that the filter takes

// matches says how much of what there is the filter takes, and offers namespaces.
function matches() {
  const pods = known.pending?.pods ?? [];
  const gangs = known.gangs?.gangs ?? [];
  const classes = known.classes?.classes ?? [];
  filter.offer(new Set([...pods.map(({ pod }) => pod), ...gangs.map(({ gang }) => gang), ...classes.map(({ firstPod }) => firstPod)].map(namespaceOf)));
  taken = pods.filter((pod) => takesPod(filter, pod)).length;
  const of = (all, takes, one, many) => `${filter.active ? `${count(all.filter((each) => takes(filter, each)).length)} of ` : ''}${count(all.length)} ${all.length === 1 ? one : many}`;
  at('matches').textContent = `${of(pods, takesPod, 'pending pod', 'pending pods')}, ${of(gangs, takesGang, 'gang', 'gangs')}, ${of(classes, takesClass, 'class', 'classes')}`;
}

// drawProcess says whether muster answers kube-scheduler, and if it does not, why.
function drawProcess(line, { unready, standsBy, leads, config }) {
  const parts = [unready ? `not ready: ${unready}` : standsBy || (leads ? 'ready, and leads' : 'ready')];
  if (config.refused) parts.push(`its changed configuration file is refused: ${config.refused.join('; ')}`);
  line.textContent = parts.join('; ');
  line.classList.toggle('bad', Boolean(unready || config.refused));
}

const fewResources = 4; // extended ones that are seen at once

function summary() {
  const nodes = known.nodes?.nodes ?? [];
  const share = (resource, measure) => [`${wordFor(resource)} ${measure}`, percent(shareOfAll(nodes, measure, resource))];
  const extended = extendedByWeight(nodes).map(({ name, share, requested }) =>
    [`${name} requested`, Number.isFinite(share) ? percent(share) : `${amount(name, requested)} of 0`]);
  const gangs = known.gangs?.gangs;
  const plans = known.plans?.plans;
  const more = extended.slice(fewResources);
  update(at('summary'), figures('Summary', [
    ['nodes', count(nodes.length)],
    ['pods pending', count(known.pending?.pods?.length ?? 0)],
    ['pods on nodes', count(nodes.reduce((sum, node) => sum + (node.requested.pods ?? 0), 0))],
    share('cpu', 'requested'),
    share('memory', 'requested'),
    share('cpu', 'used'),
    ...extended.slice(0, fewResources),
    ['gangs waiting', gangs ? count(gangs.filter((gang) => gang.why).length) : '–'],
    ['calls remembered', percent(hitRate(known.classes?.classes ?? []))],
    ['open plans', plans ? count(plans.filter((plan) => !['Succeeded', 'Failed', 'Expired'].includes(plan.phase)).length) : '–'],
  ]), ...(more.length > 0 ? [element('details', {},
    element('summary', {}, `and ${count(more.length)} more ${more.length === 1 ? 'resource' : 'resources'}`),
    figures('More resources', more))] : []));
}

// figures are large, each with its name, which is broken after a slash if it must be.
const figures = (label, named) => element('dl', { class: 'figures', 'aria-label': label },
  named.map(([name, figure]) => element('div', { 'data-key': name },
    element('dt', {}, name.split(/(?<=\/)/).flatMap((part) => [part, element('wbr')])), element('dd', {}, figure))));

// state says how the page fares, in the one line that is read out, so it is short and changed only if it says something new.
function state(text, kind) {
  const line = at('state');
  if (line.textContent !== text) line.textContent = text;
  document.body.dataset.state = kind;
}

// stateOf returns the state to show while muster answers.
function stateOf() {
  if (failures.size > 0) {
    const [error] = failures.values();
    return [`this page failed to draw ${[...failures.keys()].map((name) => panels[name].title).join(', ')}: ${error}`, 'failed'];
  }
  const waiting = known.pending?.pods?.length;
  const matching = filter.active ? `${count(taken)} of ` : '';
  const pending = waiting === undefined ? '' : `; ${matching}${count(waiting)} ${waiting === 1 ? 'pod' : 'pods'} pending${matching && ' shown'}`;
  const dump = known.status?.snapshot;
  return dump ? [`a snapshot of a cluster, which does not change: ${dump.join(', ')}${pending}`, 'dump'] : [`live${pending}`, 'live'];
}

let seen = null; // when muster answered last

const live = new Live(
  { nodes: 'debug/nodes', pending: 'debug/pending', gangs: 'debug/gangs', classes: 'debug/equivalence', plans: 'debug/plans', past: 'debug/history', status: 'debug/status' },
  (name, answer) => {
    known[name] = answer;
    if (name === 'nodes' && known.classes) drawn('classes', known.classes);
    return drawn(name, answer);
  },
  (reached, told) => {
    if (live.paused) return; // while it was asked
    tick();
    at('process').hidden = !reached; // whether it is ready is not known
    if (!reached) {
      state(seen ? `muster cannot be reached; what is shown is as of ${exactly(seen)}` : 'muster cannot be reached', 'away');
      return;
    }
    if (told.length > 0) {
      drawn('summary');
      drawn('matches');
    }
    seen = new Date();
    state(...stateOf());
    at('updated').textContent = `generation ${count(known.nodes?.generation ?? 0)}, ${seen.toLocaleTimeString()}`;
    opened.refresh(told);
  },
);

at('pause').addEventListener('click', (event) => {
  const paused = event.currentTarget.getAttribute('aria-pressed') !== 'true';
  event.currentTarget.setAttribute('aria-pressed', String(paused));
  event.currentTarget.textContent = paused ? 'Resume' : 'Pause';
  if (paused) state('paused', 'paused');
  live.pause(paused);
});
live.resume();

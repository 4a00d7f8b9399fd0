// The page: what is asked, and where it is shown.

import { drawClasses, hitRate, showClass } from './classes.js';
import { Cluster } from './cluster.js';
import { element } from './element.js';
import { explainPod } from './explain.js';
import { drawGangs, showGang } from './gangs.js';
import { Live } from './live.js';
import { showNode } from './node.js';
import { Opened } from './opened.js';
import { drawPending } from './pending.js';
import { drawPlans, showPlan } from './plans.js';
import { extendedOf, shareOfAll, wordFor } from './resources.js';
import { count, percent } from './units.js';

const at = (id) => document.getElementById(id);
const opened = new Opened({
  pod: { into: at('opened-pod'), draw: explainPod },
  node: { into: at('opened-node'), draw: showNode },
  gang: { into: at('opened-gang'), draw: showGang },
  class: { into: at('opened-class'), draw: showClass },
  plan: { into: at('opened-plan'), draw: showPlan },
});
const cluster = new Cluster((node) => opened.open('node', node));
const known = {}; // the last answers, by name

at('find').addEventListener('submit', (event) => {
  event.preventDefault();
  opened.open('pod', at('find-pod').value.trim());
});

const draw = {
  nodes(answer) {
    if (!(answer instanceof Error)) cluster.set(answer.nodes);
    if (known.classes) draw.classes(known.classes);
  },
  pending: (answer) => drawPending(at('pending'), answer),
  gangs: (answer) => drawGangs(at('gangs'), answer),
  classes: (answer) => drawClasses(at('classes'), answer, known.nodes?.nodes?.length ?? 0),
  plans: (answer) => drawPlans(at('plans'), answer),
  status(answer) {
    if (!(answer instanceof Error)) drawProcess(at('process'), answer);
  },
};

// drawProcess says whether muster answers kube-scheduler, and if it does not, why.
function drawProcess(line, { unready, leads, config }) {
  const parts = [unready ? `not ready: ${unready}` : leads ? 'ready, and leads' : 'ready'];
  if (config.refused) parts.push(`its changed configuration file is refused: ${config.refused.join('; ')}`);
  line.textContent = parts.join('; ');
  line.classList.toggle('bad', Boolean(unready || config.refused));
}

const fewResources = 4; // extended ones that the summary has room for

function summary() {
  const nodes = known.nodes?.nodes ?? [];
  const share = (resource, measure) => [`${wordFor(resource)} ${measure}`, percent(shareOfAll(nodes, measure, resource))];
  const gangs = known.gangs?.gangs;
  const plans = known.plans?.plans;
  const figures = [
    ['nodes', count(nodes.length)],
    ['pods pending', count(known.pending?.pods?.length ?? 0)],
    ['pods on them', count(nodes.reduce((sum, node) => sum + (node.requested.pods ?? 0), 0))],
    share('cpu', 'requested'),
    share('memory', 'requested'),
    share('cpu', 'used'),
    ...extendedOf(nodes).slice(0, fewResources).map((name) => share(name, 'requested')),
    ['gangs waiting', gangs ? count(gangs.filter((gang) => gang.why).length) : '–'],
    ['calls remembered', percent(hitRate(known.classes?.classes ?? []))],
    ['open plans', plans ? count(plans.filter((plan) => !['Succeeded', 'Failed', 'Expired'].includes(plan.phase)).length) : '–'],
  ];
  at('summary').replaceChildren(...figures.map(([name, figure]) => element('div', {}, element('dt', {}, name), element('dd', {}, figure))));
}

function state(text, kind) {
  const line = at('state');
  if (line.textContent !== text) line.textContent = text; // it is read out
  document.body.dataset.state = kind;
}

const live = new Live(
  { nodes: 'debug/nodes', pending: 'debug/pending', gangs: 'debug/gangs', classes: 'debug/equivalence', plans: 'debug/plans', status: 'debug/status' },
  (name, answer) => {
    known[name] = answer;
    draw[name](answer);
  },
  (reached) => {
    if (live.paused) return; // while it was asked
    if (!reached) {
      state('muster cannot be reached; what is shown is old', 'away');
      return;
    }
    summary();
    const dump = known.status?.snapshot;
    if (dump) state(`a snapshot of a cluster, which does not change: ${dump.join(', ')}`, 'dump');
    else state('live', 'live');
    at('updated').textContent = `generation ${count(known.nodes?.generation ?? 0)}, ${new Date().toLocaleTimeString()}`;
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

// The cluster: its nodes as a map and as a table, by a measure of a resource, ordered and grouped as is chosen.

import { element } from './element.js';
import { HeatMap } from './heat.js';
import { pointedAt } from './node.js';
import { extendedOf, shareOf, shareOfAll, wordFor } from './resources.js';
import { Rows } from './rows.js';
import { count, percent } from './units.js';
import { update } from './update.js';

export class Cluster {
  // open is called with the name of a node that is to be opened.
  constructor(open) {
    this.list = document.getElementById('heat');
    this.detail = document.getElementById('node');
    this.table = document.getElementById('heat-table');
    this.empty = document.getElementById('heat-empty');
    this.controls = document.querySelector('.controls');
    this.nodes = [];
    this.extended = []; // resources
    this.ranks = new Map(); // by node
    this.view = { measure: 'requested', resource: 'cpu', order: 'name', group: '' };
    this.map = new HeatMap(this.list, { said: (node) => this.describe(node), show: (node) => this.show(node), open: ({ node }) => open(node) });
    this.rows = new Rows(this.table.lastElementChild, 'Nodes, in the order of the map', ({ node }) => this.cells(node));
    this.tabulate();
    for (const input of this.controls.querySelectorAll('input:checked, select')) this.view[input.name] = input.value; // as the browser restored it
    this.controls.addEventListener('change', ({ target }) => {
      this.view[target.name] = target.value;
      this.draw();
    });
    this.controls.addEventListener('submit', (event) => event.preventDefault());
    this.table.addEventListener('toggle', () => this.drawTable());
    document.getElementById('legend').append('empty', ...Array.from({ length: 11 }, (_, i) => element('span', { class: 'swatch', 'data-level': i })), 'full');
    this.show(null);
  }

  set(nodes) {
    this.nodes = nodes;
    this.rank();
    this.offer();
    this.draw();
  }

  // rank numbers the nodes by their names, worker-2 before worker-10. That is dear, and names seldom change.
  rank() {
    const names = this.nodes.map(({ node }) => node);
    if (names.length === this.ranks.size && names.every((name) => this.ranks.has(name))) return;
    this.ranks = new Map(names.sort(byNumber.compare).map((name, i) => [name, i]));
  }

  // offer fills the list of resources, and disables groupings that no node has.
  offer() {
    const { resource, group } = this.controls.elements;
    const extended = extendedOf(this.nodes);
    if (extended.join() !== this.extended.join()) {
      if (this.extended.includes(this.view.resource) && !extended.includes(this.view.resource)) this.view.resource = 'cpu';
      this.extended = extended;
      resource.replaceChildren(...['cpu', 'memory', ...extended].map((name) => element('option', { value: name }, wordFor(name))));
      resource.value = this.view.resource;
      this.tabulate();
    }
    for (const option of group.options) option.disabled = option.value !== '' && !this.nodes.some((node) => node[option.value]);
  }

  // ordered are the nodes, each with its share, in the order that is chosen.
  ordered() {
    const { measure, resource, order } = this.view;
    const sorted = new Array(this.nodes.length);
    for (const node of this.nodes) sorted[this.ranks.get(node.node)] = { node, share: shareOf(node, measure, resource) };
    if (order === 'share') sorted.sort((a, b) => known(b.share) - known(a.share)); // ties stay by name
    return sorted;
  }

  // groups are the nodes of each zone, rack or pool; one without a name if none is chosen.
  groups(sorted) {
    const { group, measure, resource } = this.view;
    if (group === '') return [{ name: '', nodes: sorted }];
    const groups = new Map();
    for (const one of sorted) {
      const name = one.node[group] ?? '';
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(one);
    }
    return [...groups].sort(([a], [b]) => (a === '') - (b === '') || byNumber.compare(a, b)).map(([name, nodes]) => {
      const share = shareOfAll(nodes.map(({ node }) => node), measure, resource);
      return { name: name || `no ${group}`, nodes, title: `${name || `no ${group}`}: ${count(nodes.length)} nodes, ${percent(share)}` };
    });
  }

  draw() {
    this.sorted = this.ordered();
    this.list.setAttribute('aria-label', `${count(this.nodes.length)} nodes by ${this.what()}`);
    this.map.draw(this.groups(this.sorted));
    this.teach();
    this.drawTable();
  }

  what() {
    return `${wordFor(this.view.resource)} ${this.view.measure}`;
  }

  // describe says in words what is seen of a node.
  describe(node) {
    const share = shareOf(node, this.view.measure, this.view.resource);
    const known = Number.isFinite(share) ? `${percent(share)} of ${this.what()}` : 'not measured';
    return `${known}, ${count(node.requested.pods ?? 0)} pods${node.unschedulable ? ', cordoned' : ''}`;
  }

  // teach explains a map with nothing on it.
  teach() {
    let why = '';
    if (this.nodes.length === 0) why = 'No nodes yet: they appear as soon as the API server shows them.';
    else if (this.view.measure === 'used' && !this.nodes.some((node) => node.used)) {
      why = 'No node is measured. Tell muster where to read usage from: load.source is NodeMetric, Metrics (metrics-server) or Prometheus. A profile that runs LoadAware then places pods by it.';
    } else if (this.view.measure === 'used' && this.extended.includes(this.view.resource)) why = `What is used of ${this.view.resource} is not measured: see what is requested.`;
    this.empty.textContent = why;
    this.empty.hidden = why === '';
  }

  // opens is told which node is open, by its name, or null.
  opens(name) {
    this.opened = name;
    this.show(this.shown);
  }

  // show tells of a node.
  show(node) {
    this.shown = node;
    update(this.detail, ...(node ? pointedAt(node, node.node === this.opened)
      : [element('p', { class: 'hint' }, 'Point at a node, or walk through them with the arrow keys, to see its figures; click, or press Enter, to see what is on it.')]));
  }

  // columns of the table are shares: of what, and by which measure.
  columns() {
    return [['cpu', 'requested'], ['memory', 'requested'], ['cpu', 'used'], ['memory', 'used'], ...this.extended.map((name) => [name, 'requested'])];
  }

  tabulate() {
    this.rows.head(['Node', 'Zone', '#Pods', ...this.columns().map(([resource, measure]) => `#${wordFor(resource)} ${measure}`)]);
  }

  cells(node) {
    return [node.node, node.zone ?? '–', count(node.requested.pods ?? 0), ...this.columns().map(([resource, measure]) => percent(shareOf(node, measure, resource)))];
  }

  drawTable() {
    if (this.table.open) this.rows.set(this.sorted);
  }
}

// known sorts what is not known behind what is empty.
const known = (share) => (Number.isFinite(share) ? share : -1);

const byNumber = new Intl.Collator('en', { numeric: true });

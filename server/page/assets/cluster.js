// The cluster: its nodes as a map and as a table, by a measure of a resource, ordered and grouped as is chosen.

import { element } from './element.js';
import { HeatMap } from './heat.js';
import { blocksOf, byNumber, levelsOf, lowestOf } from './levels.js';
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
    this.key = document.getElementById('heat-gang');
    this.controls = document.querySelector('.controls');
    this.nodes = [];
    this.levels = []; // that can be chosen
    this.marked = { gang: null, nodes: new Map() }; // the gang that is open, and how many members of it each node has
    this.extended = []; // resources
    this.ranks = new Map(); // by node
    this.view = { measure: 'requested', resource: 'cpu', order: 'name', group: '' };
    this.map = new HeatMap(this.list, { said: (node) => this.describe(node), show: (node) => this.show(node), open: ({ node }) => open(node) });
    this.rows = new Rows(this.table.lastElementChild, 'Nodes, in the order of the map', ({ node }) => this.cells(node));
    this.tabulate();
    for (const input of this.controls.querySelectorAll('input:checked, select')) this.view[input.name] = input.value; // as the browser restored it
    this.picked = this.view.group !== ''; // somebody chose how nodes are grouped
    this.controls.addEventListener('change', ({ target }) => {
      this.view[target.name] = target.value;
      this.picked ||= target.name === 'group';
      this.draw();
    });
    this.controls.addEventListener('submit', (event) => event.preventDefault());
    this.table.addEventListener('toggle', () => this.drawTable());
    document.getElementById('legend').append('empty', ...Array.from({ length: 11 }, (_, i) => element('span', { class: 'swatch', 'data-level': i })), 'full');
    this.show(null);
  }

  set(nodes, networks = []) {
    this.nodes = nodes;
    this.rank();
    this.offer();
    this.offerLevels(networks);
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
    for (const option of group.querySelectorAll(':scope > option')) option.disabled = option.value !== '' && !this.nodes.some((node) => node[option.value]);
  }

  // offerLevels offers the levels of networks to group by. Nodes are in the domains of the lowest one unless somebody chose.
  offerLevels(networks) {
    const { group } = this.controls.elements;
    const was = this.levels;
    this.levels = levelsOf(networks);
    if (JSON.stringify(this.levels) !== JSON.stringify(was)) {
      group.querySelector('optgroup')?.remove();
      if (this.levels.length > 0) {
        group.append(element('optgroup', { label: 'near each other' }, this.levels.map(({ value, text }) => element('option', { value }, text))));
      }
      if (was.some(({ value }) => value === this.view.group) && !this.level()) {
        this.picked = false;
        this.view.group = '';
      }
    }
    if (!this.picked && this.view.group === '') this.view.group = lowestOf(networks);
    if (group.value !== this.view.group) group.value = this.view.group;
  }

  // level is the one whose domains are shown, if any.
  level() {
    return this.levels.find(({ value }) => value === this.view.group);
  }

  // ordered are the nodes, each with its share, in the order that is chosen.
  ordered() {
    const { measure, resource, order } = this.view;
    const sorted = new Array(this.nodes.length);
    for (const node of this.nodes) {
      sorted[this.ranks.get(node.node)] = { node, share: shareOf(node, measure, resource), members: this.marked.nodes.get(node.node) ?? 0 };
    }
    if (order === 'share') sorted.sort((a, b) => known(b.share) - known(a.share)); // ties stay by name
    return sorted;
  }

  // groups are the nodes of each domain, zone, rack or pool; one without a name if none is chosen.
  groups(sorted) {
    const { group, measure, resource } = this.view;
    const level = this.level();
    if (level) return this.blocks(sorted, level.keys);
    if (group === '') return [{ name: '', nodes: sorted }];
    const groups = new Map();
    for (const one of sorted) {
      const name = one.node[group] ?? '';
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(one);
    }
    return [...groups].sort(([a], [b]) => (a === '') - (b === '') || byNumber.compare(a, b)).map(([name, nodes]) => {
      const share = shareOfAll(nodes.map(({ node }) => node), measure, resource);
      return { name: name || `no ${group}`, nodes, title: `${name || `no ${group}`}: ${nodesOf(nodes.length)}, ${percent(share)}` };
    });
  }

  // blocks are the domains of a level, each in a frame for the domain above.
  blocks(sorted, keys) {
    const { measure, resource } = this.view;
    const shareIn = (nodes) => percent(shareOfAll(nodes.map(({ node }) => node), measure, resource));
    const frames = new Map();
    const blocks = blocksOf(sorted, keys).map(({ path, nodes }) => {
      const above = path.slice(0, -1).join('/');
      if (!frames.has(above)) frames.set(above, { name: above, nodes: [] });
      const frame = frames.get(above);
      frame.nodes = frame.nodes.concat(nodes);
      return { name: path.join('/'), title: path.at(-1), figure: shareIn(nodes), frame, nodes };
    });
    for (const frame of frames.values()) {
      if (frame.name) frame.title = `${frame.name}: ${nodesOf(frame.nodes.length)}, ${shareIn(frame.nodes)}`;
    }
    return blocks;
  }

  draw() {
    this.sorted = this.ordered();
    this.list.setAttribute('aria-label', `${count(this.nodes.length)} nodes by ${this.what()}`);
    const groups = this.groups(this.sorted);
    this.map.draw(groups);
    this.tell(groups);
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
    const members = this.marked.nodes.get(node.node);
    return `${known}, ${count(node.requested.pods ?? 0)} pods${node.unschedulable ? ', cordoned' : ''}${members ? `, ${ofMembers(members)} of gang ${this.marked.gang}` : ''}`;
  }

  // marks is told which gang is open, by its name and what muster tells of it, or null.
  marks(gang, told) {
    const nodes = new Map();
    for (const { node } of told?.gangs.flatMap(({ members }) => members) ?? []) if (node) nodes.set(node, (nodes.get(node) ?? 0) + 1);
    const marked = { gang, nodes };
    if (gang === this.marked.gang && JSON.stringify([...nodes]) === JSON.stringify([...this.marked.nodes])) return;
    this.marked = marked;
    if (this.sorted) this.draw();
  }

  // tell says where members of the gang are that is open.
  tell(groups) {
    const { gang, nodes } = this.marked;
    this.key.hidden = !gang;
    if (!gang) return;
    const members = [...nodes.values()].reduce((sum, some) => sum + some, 0);
    const level = this.level();
    const having = groups.filter((group) => group.nodes.some((one) => one.members > 0)).map(({ name }) => name);
    const where = level && having.length > 0 ? `, in ${count(having.length)} of ${count(groups.length)} domains by ${level.keys.at(-1)}${having.length <= few ? `: ${having.join(', ')}` : ''}` : '';
    update(this.key, element('span', { class: 'key member', 'aria-hidden': 'true' }),
      members === 0 ? `No member of gang ${gang} has a node.` : `${ofMembers(members)} of gang ${gang} on ${nodesOf(nodes.size)}${where}`);
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

const few = 3; // domains that are named

const nodesOf = (n) => `${count(n)} ${n === 1 ? 'node' : 'nodes'}`;

const ofMembers = (n) => `${count(n)} ${n === 1 ? 'member' : 'members'}`;

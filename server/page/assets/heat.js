// The map of nodes: a cell for each, coloured by how full it is. It is a listbox with one stop for
// the keyboard; arrows move in it.

import { bar, element } from './element.js';
import { Rows } from './rows.js';
import { amount, count, level, percent, shareOf } from './units.js';

const measures = { requested: 'requested', used: 'used' };
const resources = { cpu: 'CPU', memory: 'memory' };

// inWords are the cells of a node in the table.
function inWords(node) {
  return [node.node, node.zone ?? '–', count(node.requested.pods ?? 0),
    ...['requested', 'used'].flatMap((measure) => ['cpu', 'memory'].map((resource) => percent(shareOf(node, measure, resource))))];
}

export class HeatMap {
  constructor() {
    this.list = document.getElementById('heat');
    this.detail = document.getElementById('node');
    this.table = document.getElementById('heat-table');
    this.rows = new Rows(this.table.lastElementChild, 'Nodes, in the order of the map',
      ['Node', 'Zone', '#Pods', '#CPU requested', '#Memory requested', '#CPU used', '#Memory used'], inWords);
    this.empty = document.getElementById('heat-empty');
    this.nodes = [];
    this.cells = new Map(); // by node
    this.ranks = new Map(); // by node
    this.view = { measure: 'requested', resource: 'cpu', order: 'name' };
    for (const input of document.querySelectorAll('.controls input')) {
      if (input.checked) this.view[input.name] = input.value; // as the browser restored it
      input.addEventListener('change', () => {
        this.view[input.name] = input.value;
        this.draw();
      });
    }
    this.list.addEventListener('pointerover', (event) => this.show(event.target.closest('li')));
    this.list.addEventListener('pointerleave', () => this.show(this.current));
    this.list.addEventListener('click', (event) => this.focus(event.target.closest('li')));
    this.list.addEventListener('focusin', (event) => this.select(event.target.closest('li')));
    this.list.addEventListener('keydown', (event) => this.key(event));
    this.table.addEventListener('toggle', () => this.drawTable());
    document.getElementById('legend').append('empty', ...Array.from({ length: 11 }, (_, i) => element('span', { class: 'swatch', 'data-level': i })), 'full');
    this.show(null);
  }

  set(nodes) {
    this.nodes = nodes;
    this.rank();
    this.draw();
  }

  // rank numbers the nodes by their names, worker-2 before worker-10. That is dear, and names seldom change.
  rank() {
    const names = this.nodes.map(({ node }) => node);
    if (names.length === this.ranks.size && names.every((name) => this.ranks.has(name))) return;
    this.ranks = new Map(names.sort(new Intl.Collator('en', { numeric: true }).compare).map((name, i) => [name, i]));
  }

  share(node) {
    return shareOf(node, this.view.measure, this.view.resource);
  }

  draw() {
    const shares = new Map(this.nodes.map((node) => [node.node, this.share(node)]));
    const sorted = this.nodes.toSorted((a, b) => {
      const difference = this.view.order === 'share' ? (shares.get(b.node) || -1) - (shares.get(a.node) || -1) : 0;
      return difference || this.ranks.get(a.node) - this.ranks.get(b.node);
    });
    const focused = this.list.contains(document.activeElement);
    const gone = new Set(this.cells.keys());
    const cells = sorted.map((node) => {
      gone.delete(node.node);
      return this.cell(node, shares.get(node.node));
    });
    for (const name of gone) this.cells.delete(name);
    if (cells.length !== this.list.children.length || cells.some((cell, i) => this.list.children[i] !== cell)) this.list.replaceChildren(...cells);
    this.list.dataset.size = cells.length <= 48 ? 'large' : cells.length <= 600 ? 'medium' : cells.length <= 2500 ? 'small' : 'tiny';
    const what = `${resources[this.view.resource]} ${measures[this.view.measure]}`;
    this.list.setAttribute('aria-label', `${count(cells.length)} nodes by ${what}`);
    if (!this.current?.isConnected || !cells.includes(this.current)) this.select(cells[0] ?? null);
    if (focused) this.current?.focus({ preventScroll: true });
    this.say();
    this.show(this.shown?.isConnected ? this.shown : null);
    this.drawTable();
  }

  // cell is the cell of a node, changed only where that is another than before.
  cell(node, share) {
    let cell = this.cells.get(node.node);
    if (!cell) {
      cell = element('li', { role: 'option', tabindex: -1, 'aria-selected': 'false' }, element('b', {}, node.node), element('span'));
      this.cells.set(node.node, cell);
    }
    const said = percent(share);
    const label = `${node.node}: ${Number.isFinite(share) ? `${said} of ${resources[this.view.resource]} ${measures[this.view.measure]}` : 'not measured'}, ${count(node.requested.pods ?? 0)} pods${node.unschedulable ? ', cordoned' : ''}`;
    if (cell.getAttribute('aria-label') !== label) {
      cell.setAttribute('aria-label', label);
      cell.dataset.level = level(share);
      cell.classList.toggle('cordoned', Boolean(node.unschedulable));
      cell.lastChild.textContent = said;
    }
    cell.node = node;
    return cell;
  }

  // say explains a map with nothing on it.
  say() {
    const measured = this.nodes.some((node) => node.used);
    let why = '';
    if (this.nodes.length === 0) why = 'No nodes yet: they appear as soon as the API server shows them.';
    else if (this.view.measure === 'used' && !measured) {
      why = 'No node is measured. Tell muster where to read usage from: load.source is NodeMetric, Metrics (metrics-server) or Prometheus. A profile that runs LoadAware then places pods by it.';
    }
    this.empty.textContent = why;
    this.empty.hidden = why === '';
  }

  select(cell) {
    if (this.current && this.current !== cell) {
      this.current.tabIndex = -1;
      this.current.setAttribute('aria-selected', 'false');
    }
    this.current = cell;
    if (!cell) return;
    cell.tabIndex = 0;
    if (this.list.contains(document.activeElement)) {
      cell.setAttribute('aria-selected', 'true');
      this.show(cell);
    }
  }

  focus(cell) {
    if (cell) cell.focus();
  }

  key(event) {
    const cells = [...this.list.children];
    const at = cells.indexOf(this.current);
    const columns = getComputedStyle(this.list).gridTemplateColumns.split(' ').length;
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, ArrowDown: at + columns, ArrowUp: at - columns, Home: 0, End: cells.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.focus(cells[to]);
  }

  // show tells the figures of the node of a cell.
  show(cell) {
    this.shown = cell;
    if (!cell) {
      this.detail.replaceChildren(element('p', { class: 'hint' }, 'Point at a node, or walk through them with the arrow keys, to see its figures.'));
      return;
    }
    const { node } = cell;
    const figure = (resource, measure) => {
      const share = shareOf(node, measure, resource);
      return element('div', {},
        element('dt', {}, `${resources[resource]} ${measures[measure]}`),
        element('dd', {}, bar(share, level(share) === 10 ? 10 : 6), element('strong', {}, percent(share)),
          node[measure] ? ` ${amount(resource, node[measure][resource])} of ${amount(resource, node.allocatable[resource])}` : ' not measured'));
    };
    this.detail.replaceChildren(
      element('h3', {}, node.node, node.zone && element('small', {}, ` ${node.zone}`), node.unschedulable && element('small', {}, ' cordoned')),
      element('dl', {}, figure('cpu', 'requested'), figure('memory', 'requested'), figure('cpu', 'used'), figure('memory', 'used'),
        element('div', {}, element('dt', {}, 'pods'), element('dd', {}, element('strong', {}, count(node.requested.pods ?? 0)), ` of ${count(node.allocatable.pods ?? 0)}`)),
        Object.entries(node.allocatable.extended ?? {}).map(([name, offered]) =>
          element('div', {}, element('dt', {}, name), element('dd', {}, element('strong', {}, count(node.requested.extended[name])), ` of ${count(offered)}`)))));
  }

  drawTable() {
    if (this.table.open) this.rows.set(Array.from(this.list.children, ({ node }) => node));
  }
}

// The map of nodes: a cell for each, coloured by how full it is, in groups. It is a listbox with one stop for the keyboard;
// arrows move in it.
//
// A cluster has thousands of nodes, so what is drawn again is only what has changed, and only what can be seen: a cell has a
// text only where that fits, and is described in words when the keyboard comes to it.

import { element } from './element.js';
import { level, percent } from './units.js';
import { update } from './update.js';

// sizeOf returns the size of the cells for a number of nodes.
const sizeOf = (nodes) => (nodes <= 48 ? 'large' : nodes <= 600 ? 'medium' : nodes <= 2500 ? 'small' : 'tiny');

export class HeatMap {
  // list is where the map goes; said describes a node in words. show is called with the node of the cell that is
  // pointed at or has the focus, open with that of one that is clicked.
  constructor(list, { said, show, open }) {
    Object.assign(this, { list, said, show, open, cells: new Map(), current: null, pointed: null });
    list.addEventListener('pointerover', (event) => this.point(event.target.closest('li') ?? this.pointed));
    list.addEventListener('pointerleave', () => this.point(this.current));
    list.addEventListener('click', (event) => this.click(event.target.closest('li')));
    list.addEventListener('focusin', (event) => this.select(event.target.closest('li')));
    list.addEventListener('keydown', (event) => this.key(event));
  }

  // draw shows groups of nodes, each { name, title, nodes }, where nodes are { node, share } in their order. A group without
  // a name is the only one.
  //
  // Cells stay where they are and show another node if the order has changed: thousands that move would be laid out again.
  draw(groups) {
    const focused = this.list.contains(document.activeElement);
    const { pointed } = this;
    const walked = pointed !== null && pointed === this.current;
    const size = sizeOf(groups.reduce((sum, group) => sum + group.nodes.length, 0));
    this.list.dataset.size = size;
    this.frame(groups);
    this.cells = new Map(); // by node
    groups.forEach(({ nodes }, i) => this.fill(this.list.children[i].lastChild, nodes, size === 'large'));
    const current = this.cells.get(this.at) ?? this.list.querySelector('li');
    this.select(current);
    if (focused && current !== document.activeElement) current?.focus({ preventScroll: true });
    this.point(walked ? current : pointed?.isConnected ? pointed : null);
  }

  // frame gives each group a list of cells, and its title.
  frame(groups) {
    const names = JSON.stringify(groups.map(({ name }) => name));
    if (this.names !== names) {
      this.names = names;
      this.list.replaceChildren(...groups.map(({ name }) =>
        element('div', { role: name ? 'group' : 'presentation', 'aria-label': name || null },
          name ? element('p', { 'aria-hidden': 'true' }) : null, element('ul', { role: 'presentation' }))));
    }
    groups.forEach(({ name, title }, i) => {
      const line = this.list.children[i].firstChild;
      if (name && line.textContent !== title) line.textContent = title;
    });
  }

  // fill has a list show these nodes, a cell for each.
  fill(list, nodes, large) {
    let cell = list.firstChild;
    for (const one of nodes) {
      cell ??= list.appendChild(element('li', { role: 'option', tabindex: -1, 'aria-selected': 'false' }));
      this.paint(cell, one, large);
      this.cells.set(one.node.node, cell);
      cell = cell.nextSibling;
    }
    while (list.childElementCount > nodes.length) list.lastChild.remove();
  }

  // paint has a cell show a node, and changes only what differs.
  paint(cell, { node, share }, large) {
    const text = large ? percent(share) : '';
    if (cell.node?.node !== node.node || cell.text !== text) {
      cell.text = text;
      if (large) cell.removeAttribute('aria-label');
      else cell.setAttribute('aria-label', node.node);
      if (large) update(cell, element('b', {}, node.node), element('span', {}, text));
      else if (cell.firstChild) cell.replaceChildren();
    }
    cell.node = node;
    const now = level(share);
    if (cell.level !== now) cell.dataset.level = cell.level = now;
    const cordoned = Boolean(node.unschedulable);
    if (cell.cordoned !== cordoned) cell.classList.toggle('cordoned', cell.cordoned = cordoned);
  }

  // describe has a cell say in words what its colour says.
  describe(cell) {
    const words = this.said(cell.node);
    if (cell.getAttribute('aria-description') !== words) cell.setAttribute('aria-description', words);
  }

  select(cell) {
    if (this.current && this.current !== cell) {
      this.current.tabIndex = -1;
      this.current.setAttribute('aria-selected', 'false');
      this.current.removeAttribute('aria-description');
    }
    this.current = cell;
    this.at = cell?.node.node; // the node that the keyboard is at
    if (!cell) return;
    this.describe(cell);
    cell.tabIndex = 0;
    if (this.list.contains(document.activeElement)) {
      cell.setAttribute('aria-selected', 'true');
      this.point(cell);
    }
  }

  point(cell) {
    this.pointed = cell;
    this.show(cell?.node ?? null);
  }

  click(cell) {
    if (!cell) return;
    cell.focus();
    this.open(cell.node);
  }

  key(event) {
    if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      this.click(this.current);
      return;
    }
    const cells = [...this.list.querySelectorAll('li')];
    const at = cells.indexOf(this.current);
    const to = { ArrowRight: cells[at + 1], ArrowLeft: cells[at - 1], ArrowDown: this.beside(1), ArrowUp: this.beside(-1), Home: cells[0], End: cells.at(-1) };
    if (!(event.key in to)) return;
    event.preventDefault();
    to[event.key]?.focus();
  }

  // beside returns the cell a number of rows further down, or the nearest one of the next group.
  beside(rows) {
    const row = this.current.parentElement;
    const columns = getComputedStyle(row).gridTemplateColumns.split(' ').length;
    const cells = [...row.children];
    const cell = cells[cells.indexOf(this.current) + rows * columns];
    if (cell) return cell;
    const next = rows > 0 ? row.parentElement.nextElementSibling : row.parentElement.previousElementSibling;
    return rows > 0 ? next?.lastChild.firstChild : next?.lastChild.lastChild;
  }
}

// The map of nodes: a cell for each, coloured by how full it is, in groups. It is a listbox with one stop for the keyboard;
// arrows move in it.
//
// A cluster has thousands of nodes, so what is drawn again is only what has changed, and only what can be seen: a cell has a
// text only where that fits, and is described in words when the keyboard comes to it.

import { element } from './element.js';
import { level, percent } from './units.js';

// sizeOf is how large the cells of so many nodes are.
const sizeOf = (nodes) => (nodes <= 48 ? 'large' : nodes <= 600 ? 'medium' : nodes <= 2500 ? 'small' : 'tiny');

export class HeatMap {
  // list is where the map goes; said describes a node in words. show is called with the node of the cell that is
  // pointed at or has the focus, open with that of one that is clicked.
  constructor(list, { said, show, open }) {
    Object.assign(this, { list, said, show, open, cells: new Map(), current: null });
    list.addEventListener('pointerover', (event) => this.point(event.target.closest('li') ?? this.pointed));
    list.addEventListener('pointerleave', () => this.point(this.current));
    list.addEventListener('click', (event) => this.click(event.target.closest('li')));
    list.addEventListener('focusin', (event) => this.select(event.target.closest('li')));
    list.addEventListener('keydown', (event) => this.key(event));
  }

  // draw shows groups of nodes, each { name, title, nodes }, with the share of each node, in their order. A group without
  // a name is the only one.
  draw(groups, shares) {
    const focused = this.list.contains(document.activeElement);
    const nodes = groups.reduce((sum, group) => sum + group.nodes.length, 0);
    const size = sizeOf(nodes);
    this.list.dataset.size = size;
    const gone = new Set(this.cells.keys());
    const parts = groups.map((group) => ({ ...group, cells: group.nodes.map((node) => {
      gone.delete(node.node);
      return this.cell(node, shares.get(node), size === 'large');
    }) }));
    for (const name of gone) this.cells.delete(name);
    if (!this.drawnAs(parts)) {
      this.list.replaceChildren(...parts.map(({ name, cells }) => element('div', { role: name ? 'group' : 'presentation', 'aria-label': name || null },
        name ? element('p', { 'aria-hidden': 'true' }) : null, element('ul', { role: 'presentation' }, cells))));
    }
    parts.forEach(({ name, title }, i) => {
      const line = this.list.children[i].firstChild;
      if (name && line.textContent !== title) line.textContent = title;
    });
    if (!this.current?.isConnected) this.select(this.list.querySelector('li'));
    else this.describe(this.current);
    if (focused) this.current?.focus({ preventScroll: true });
    this.point(this.pointed?.isConnected ? this.pointed : null);
  }

  // drawnAs says whether the map shows these groups, with these cells in this order.
  drawnAs(parts) {
    const groups = this.list.children;
    return groups.length === parts.length && parts.every(({ name, cells }, i) => {
      const drawn = groups[i].lastChild.children;
      return groups[i].getAttribute('aria-label') === (name || null) && drawn.length === cells.length && cells.every((cell, k) => drawn[k] === cell);
    });
  }

  // cell is the cell of a node, updated only where it differs.
  cell(node, share, large) {
    let cell = this.cells.get(node.node);
    if (!cell) {
      cell = element('li', { role: 'option', tabindex: -1, 'aria-selected': 'false', 'aria-label': node.node });
      this.cells.set(node.node, cell);
    }
    cell.node = node;
    const now = level(share);
    if (cell.level !== now) cell.dataset.level = cell.level = now;
    const cordoned = Boolean(node.unschedulable);
    if (cell.cordoned !== cordoned) cell.classList.toggle('cordoned', cell.cordoned = cordoned);
    const text = large ? percent(share) : '';
    if (cell.text !== text) {
      cell.text = text;
      cell.replaceChildren(...(large ? [element('b', {}, node.node), element('span', {}, text)] : []));
      if (large) cell.removeAttribute('aria-label');
      else cell.setAttribute('aria-label', node.node);
    }
    return cell;
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

  // beside is the cell so many rows further down, or the nearest one of the next group.
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

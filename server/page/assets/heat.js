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
    Object.assign(this, { list, said, show, open, cells: new Map(), current: null, pointed: null, parts: [] });
    list.addEventListener('pointerover', (event) => this.point(event.target.closest('li') ?? this.pointed));
    list.addEventListener('pointerleave', () => this.point(this.current));
    list.addEventListener('click', (event) => this.click(event.target.closest('li')));
    list.addEventListener('focusin', (event) => this.select(event.target.closest('li')));
    list.addEventListener('keydown', (event) => this.key(event));
  }

  // draw shows groups of nodes, each { name, title, nodes }, where nodes are { node, share, members } in their order. A group without
  // a name is the only one. Groups that have a frame, { name, title }, are blocks within it, side by side, each with a figure.
  //
  // Cells stay where they are and show another node if the order has changed: thousands that move would be laid out again.
  draw(groups) {
    const focused = this.list.contains(document.activeElement);
    const { pointed } = this;
    const walked = pointed !== null && pointed === this.current;
    const size = sizeOf(groups.reduce((sum, group) => sum + group.nodes.length, 0));
    this.list.dataset.size = size;
    this.frame(groups, size === 'large' ? 2 : Infinity);
    this.cells = new Map(); // by node
    groups.forEach(({ nodes }, i) => this.fill(this.parts[i].list, nodes, size === 'large'));
    const current = this.cells.get(this.at) ?? this.list.querySelector('li');
    this.select(current);
    if (focused && current !== document.activeElement) current?.focus({ preventScroll: true });
    this.point(walked ? current : pointed?.isConnected ? pointed : null);
  }

  // frame gives each group a list of cells and its title, and blocks their frames. A block is at most that many cells wide.
  frame(groups, widest) {
    const names = JSON.stringify(groups.map(({ name, frame }) => [name, frame?.name]));
    if (this.names !== names) {
      this.names = names;
      this.parts = groups.map(({ name, frame }) => partOf(name, frame));
      this.frames = new Map(); // lines by name
      this.list.replaceChildren(...this.framed(groups));
    }
    for (const [i, { name, title, figure, frame, nodes }] of groups.entries()) {
      const { line, whole } = this.parts[i];
      if (name) write(frame ? line.firstChild : line, title);
      if (!frame) continue;
      write(line.lastChild, figure);
      whole.classList.toggle('has', nodes.some(({ members }) => members > 0));
      const above = this.frames.get(frame.name);
      if (above) write(above, frame.title);
    }
    const most = (of) => groups.reduce((max, group) => Math.max(max, of(group)), 1);
    this.size('--columns', Math.min(widest, Math.ceil(Math.sqrt(2 * most(({ nodes }) => nodes.length)))));
    this.size('--letters', Math.min(longest, most(({ title }) => title?.length ?? 0)));
  }

  // size says how large blocks are. What has not changed is not set: all cells would be laid out again.
  size(name, value) {
    if (this.list.style.getPropertyValue(name) !== String(value)) this.list.style.setProperty(name, value);
  }

  // framed puts blocks into frames, one after the other.
  framed(groups) {
    const boxes = [];
    let last = null;
    for (const [i, { frame }] of groups.entries()) {
      const { whole } = this.parts[i];
      if (!frame) boxes.push(whole);
      else if (frame === last) boxes.at(-1).lastChild.append(whole);
      else {
        const line = frame.name ? element('p', { 'aria-hidden': 'true' }) : null;
        if (line) this.frames.set(frame.name, line);
        boxes.push(element('div', { class: frame.name && 'frame', role: 'presentation' }, line, element('div', { class: 'blocks', role: 'presentation' }, whole)));
      }
      last = frame;
    }
    return boxes;
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
  paint(cell, { node, share, members }, large) {
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
    const member = members > 0;
    if (cell.member !== member) cell.classList.toggle('member', cell.member = member);
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

  // beside returns the cell a number of rows further down, or the nearest one of another group there.
  beside(rows) {
    const row = this.current.parentElement;
    const columns = columnsOf(row);
    const cells = [...row.children];
    return cells[cells.indexOf(this.current) + rows * columns] ?? this.beyond(row, rows > 0);
  }

  // beyond returns the cell below or above a list that is nearest to the current one.
  beyond(row, below) {
    const own = row.getBoundingClientRect();
    const { left, right } = this.current.getBoundingClientRect();
    const aside = (box) => Math.max(0, box.left - right, left - box.right);
    const lists = this.parts.map(({ list }) => ({ list, box: list.getBoundingClientRect() }))
      .map(({ list, box }) => ({ list, away: below ? box.top - own.bottom : own.top - box.bottom, aside: aside(box) }))
      .filter(({ away }) => away >= 0);
    const nearest = least(lists, (a, b) => a.away - b.away || a.aside - b.aside)?.list;
    if (!nearest) return undefined;
    const cells = [...nearest.children];
    const columns = columnsOf(nearest);
    const line = below ? cells.slice(0, columns) : cells.slice(columns * Math.floor((cells.length - 1) / columns));
    return least(line.map((cell) => ({ cell, aside: aside(cell.getBoundingClientRect()) })), (a, b) => a.aside - b.aside).cell;
  }
}

// partOf makes a group: its line, its list of cells and the element that has both.
function partOf(name, frame) {
  const line = name ? element('p', { 'aria-hidden': 'true' }, frame ? [element('b'), element('small')] : []) : null;
  const list = element('ul', { role: 'presentation' });
  return { line, list, whole: element('div', { role: name ? 'group' : 'presentation', 'aria-label': name || null }, line, list) };
}

function write(into, text) {
  if (into.textContent !== text) into.textContent = text;
}

const longest = 24; // letters of a name that a block has room for

const columnsOf = (list) => getComputedStyle(list).gridTemplateColumns.split(' ').length;

// least returns the first of the least ones, undefined if there is none.
const least = (all, compare) => all.reduce((first, one) => (first !== undefined && compare(first, one) <= 0 ? first : one), undefined);

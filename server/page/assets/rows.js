// A table of many rows that makes only the visible ones: a cluster has thousands of nodes.

import { element, frame, row } from './element.js';
import { update } from './update.js';

const tall = 28; // px of a row, until one is measured
const beyond = 20; // rows that are made above and below what is seen
const few = 200; // rows that are all made

export class Rows {
  // into scrolls. cells makes the cells of the row of an item. The first cell names it.
  constructor(into, caption, cells) {
    Object.assign(this, { into, caption, cells, items: [], height: tall, body: element('tbody') });
    this.head([]);
    into.addEventListener('scroll', () => this.draw(), { passive: true });
  }

  // head gives the columns their heads. A head that begins with # is of numbers.
  head(heads) {
    this.heads = heads;
    this.table = frame(this.caption, heads, this.body);
  }

  set(items) {
    this.items = items;
    if (!this.table.isConnected) this.into.replaceChildren(this.table);
    this.table.setAttribute('aria-rowcount', items.length + 1);
    this.draw();
  }

  draw() {
    const { items, into } = this;
    const all = items.length <= few;
    const first = all ? 0 : Math.max(0, Math.floor(into.scrollTop / this.height) - beyond);
    const last = all ? items.length : Math.min(items.length, first + Math.ceil(into.clientHeight / this.height) + 2 * beyond);
    update(
      this.body,
      this.gap(first),
      ...items.slice(first, last).map((item, i) => row(this.heads, this.cells(item), { 'aria-rowindex': first + i + 2 })),
      this.gap(items.length - last));
    const measured = this.body.children[1]?.getBoundingClientRect().height;
    if (measured > 0) this.height = measured;
  }

  // gap is as tall as the rows that are not made.
  gap(rows) {
    const gap = element('tr', { 'aria-hidden': 'true', hidden: rows === 0 }, element('td', { colspan: this.heads.length }));
    gap.firstChild.style.cssText = `height: ${rows * this.height}px; padding: 0; border: 0`;
    return gap;
  }
}

// Elements of the page are made here, and only ever from text.

const svgNames = new Set(['svg', 'g', 'path', 'line', 'text', 'circle', 'rect', 'defs', 'marker', 'title']);

// element makes an element with attributes and children. Null and false are left out.
export function element(name, attributes = {}, ...children) {
  const made = svgNames.has(name) ? document.createElementNS('http://www.w3.org/2000/svg', name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== false && value !== undefined) made.setAttribute(key, value === true ? '' : value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== false && child !== undefined));
  return made;
}

// table has a caption, heads and rows of cells. The first cell of a row names it. Heads that begin
// with # are of numbers.
export function table(caption, heads, rows) {
  return frame(caption, heads, element('tbody', {}, rows.map((cells) => row(heads, cells))));
}

// scrolled is something wide or long that scrolls in a region of its own, which the keyboard reaches.
export const scrolled = (label, ...children) => element('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': label }, children);

// frame is a table around a body.
export function frame(caption, heads, body) {
  return element('table', {},
    element('caption', {}, caption),
    element('thead', {}, element('tr', {}, heads.map((head) => element('th', { scope: 'col', class: isNumber(head) && 'number' }, head.replace('#', ''))))),
    body);
}

// row is a row of a table with these heads, whose key is its name.
export function row(heads, cells, attributes = {}) {
  return element('tr', { 'data-key': cells[0].textContent ?? cells[0], ...attributes }, cells.map((cell, i) =>
    element(i === 0 ? 'th' : 'td', { scope: i === 0 && 'row', class: isNumber(heads[i]) && 'number' }, cell)));
}

const isNumber = (head) => head.startsWith('#');

// bar is a share of a whole, drawn: nothing where it is not known.
export function bar(share, level) {
  const fill = element('span', { class: 'fill', 'data-level': level });
  fill.style.width = `${Number.isFinite(share) ? Math.min(100, 100 * share) : 0}%`;
  return element('span', { class: 'bar', 'aria-hidden': 'true' }, fill);
}

// Elements of the page are made here, and only ever from text.

const svgNames = new Set(['svg', 'g', 'path', 'line', 'text', 'circle', 'rect', 'defs', 'marker', 'title']);

// element makes an element with attributes and children. Null and false are left out.
export function element(name, attributes = {}, ...children) {
  const made = svgNames.has(name) ? document.createElementNS('http://www.w3.org/2000/svg', name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== false && value !== undefined) made.setAttribute(key, value === true ? '' : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== false && child !== undefined));
  return made;
}

// table has a caption, heads and rows of cells, the first of which names its row. Heads that begin
// with # are of numbers.
export function table(caption, heads, rows) {
  const number = heads.map((head) => head.startsWith('#'));
  return element('table', {},
    element('caption', {}, caption),
    element('thead', {}, element('tr', {}, heads.map((head, i) => element('th', { scope: 'col', class: number[i] && 'number' }, head.replace('#', ''))))),
    element('tbody', {}, rows.map((cells) => element('tr', {}, cells.map((cell, i) =>
      element(i === 0 ? 'th' : 'td', { scope: i === 0 && 'row', class: number[i] && 'number' }, cell))))));
}

// bar is a share of a whole, drawn: nothing where it is not known.
export function bar(share, level) {
  const fill = element('span', { class: 'fill', 'data-level': level });
  fill.style.width = `${Number.isFinite(share) ? Math.min(100, 100 * share) : 0}%`;
  return element('span', { class: 'bar', 'aria-hidden': 'true' }, fill);
}

// A pod, gang, class, node or plan is opened in place, one at a time. Which one is in the URL, so that it can be sent to
// somebody.

import { element } from './element.js';

// hashOf is the URL of a thing.
const hashOf = (kind, name) => `#${kind}=${encodeURIComponent(name)}`;

// link leads to a thing.
export const link = (kind, name, text = name) => element('a', { href: hashOf(kind, name) }, text);

export class Opened {
  // places has for each kind into which element a thing is drawn, and what draws it: draw(name) promises its elements.
  constructor(places) {
    Object.assign(this, { places, asked: 0 });
    addEventListener('hashchange', () => this.follow());
    this.follow();
  }

  // open opens a thing, or asks about it again.
  open(kind, name) {
    if (location.hash === hashOf(kind, name)) this.follow();
    else location.hash = hashOf(kind, name);
  }

  // follow opens what the URL names, and closes all else. A place on the page is none of that.
  async follow() {
    const asked = ++this.asked;
    const named = new URLSearchParams(location.hash.slice(1));
    const kind = Object.keys(this.places).find((one) => named.get(one));
    if (!kind && location.hash.length > 1) return;
    for (const [other, { into }] of Object.entries(this.places)) {
      if (other !== kind) into.replaceChildren();
    }
    if (!kind) return;
    const { into, draw } = this.places[kind];
    const name = named.get(kind);
    let title = `${kind} ${name}`;
    let drawn;
    try {
      drawn = await draw(name);
    } catch (error) {
      title = ''; // the URL may say anything
      drawn = [element('p', { class: 'empty' }, error.message)];
    }
    if (asked !== this.asked) return; // something else was opened meanwhile
    const again = element('button', { type: 'button' }, 'Ask again');
    again.addEventListener('click', () => this.follow());
    into.replaceChildren(element('p', { class: 'opener' },
      element('strong', {}, title), ` as of ${new Date().toLocaleString()} `, again, ' ', element('a', { href: '#' }, 'close')), ...drawn);
    into.scrollIntoView({ block: 'nearest' });
  }
}

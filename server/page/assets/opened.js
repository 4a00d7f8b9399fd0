// A pod, gang, class, node or plan is opened in place, one at a time. Which one is in the URL, so that it can be sent to
// somebody. It is asked about again when the cluster has changed.

import { ask, Refused, Unreachable } from './ask.js';
import { element } from './element.js';
import { update } from './update.js';

// hashOf is the URL of a thing.
const hashOf = (kind, name) => `#${kind}=${encodeURIComponent(name)}`;

// link leads to a thing.
export const link = (kind, name, text = name) => element('a', { href: hashOf(kind, name) }, text);

export class Opened {
  // places has for each kind into which element a thing is drawn, the path where muster tells of it, and what draws that:
  // draw(told, name) returns elements; and the answers that it is a part of, so that it changes with them. If shows is there, it
  // is called with the name of the one that is shown and what is told of it, or null.
  constructor(places) {
    Object.assign(this, { places, asking: null });
    addEventListener('hashchange', () => this.follow());
    this.follow();
  }

  // open opens a thing, or asks about it again.
  open(kind, name) {
    if (location.hash === hashOf(kind, name)) this.follow();
    else location.hash = hashOf(kind, name);
  }

  // follow opens what the URL names, and closes all else. A place on the page is none of that.
  follow() {
    const named = new URLSearchParams(location.hash.slice(1));
    const kind = Object.keys(this.places).find((one) => named.get(one));
    if (!kind && location.hash.length > 1) return;
    for (const [other, { into, shows }] of Object.entries(this.places)) {
      if (other !== kind) into.replaceChildren();
      shows?.(null);
    }
    this.asking?.abort();
    Object.assign(this, { kind, name: named.get(kind), from: document.activeElement, asking: null, etag: null, stale: false, rests: 0 });
    Object.assign(this, { fresh: true, asOf: null, told: null }); // nothing of it is shown yet
    if (kind) this.ask();
  }

  // refresh is called every few seconds while the page is looked at, with what has changed since. What is opened is asked about
  // if it may have changed with that: not while an answer is awaited, and less often if answers take long.
  refresh(changed) {
    this.stale ||= changed.some((one) => this.places[this.kind]?.of.includes(one));
    if (this.kind && this.stale && !this.asking && performance.now() >= this.rests) this.ask();
  }

  async ask() {
    const { kind, name, places } = this;
    const { path, draw } = places[kind];
    this.asking?.abort();
    const asking = this.asking = new AbortController();
    this.stale = false;
    const began = performance.now();
    let drawn;
    let wrong = '';
    try {
      const { told, etag } = await ask(path(name), this.etag, asking.signal);
      if (told !== undefined && !asking.signal.aborted) {
        drawn = draw(told, name);
        this.told = told;
      }
      this.etag = etag;
    } catch (error) {
      wrong = error instanceof Refused || error instanceof Unreachable ? error.message : `This page failed to draw it: ${error}`;
      if (this.asOf && error.status === 404) wrong = `It is gone: ${wrong}`;
      this.stale = error instanceof Unreachable;
    }
    if (asking.signal.aborted) return; // something else was opened meanwhile
    this.asking = null;
    this.rests = performance.now() + 10 * (performance.now() - began);
    if (!wrong) this.asOf = new Date();
    this.show(drawn, wrong);
  }

  // show shows what was drawn, if it is not what is there already, and what went wrong.
  show(drawn, wrong) {
    const { kind, name, asOf, fresh } = this;
    const { into, shows } = this.places[kind];
    if (fresh) into.replaceChildren(element('div', { class: 'opener' }), element('div', { class: 'told' }));
    const again = element('button', { type: 'button' }, 'Ask again');
    again.addEventListener('click', () => this.ask());
    const [opener, told] = into.children;
    update(opener,
      element('h3', { tabindex: -1 }, asOf ? `${kind} ${name}` : kind), // the URL may say anything
      asOf ? ` as of ${asOf.toLocaleString()} ` : ' ', again, ' ', element('a', { href: '#' }, 'close'),
      ...(wrong ? [element('p', { class: asOf ? 'bad' : 'empty' }, wrong)] : []));
    if (drawn) update(told, ...drawn);
    if (asOf) shows?.(name, this.told);
    this.fresh = false;
    if (!fresh) return;
    into.scrollIntoView({ block: 'nearest' });
    // Who walks through the map goes on there; who came by a link, or asked, reads what it led to.
    if (this.from === document.activeElement && !this.from?.closest('[role=listbox]')) opener.firstChild.focus({ preventScroll: true });
  }
}

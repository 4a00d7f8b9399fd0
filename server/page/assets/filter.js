// What is shown of pending pods, gangs and classes: all, or those of a namespace and those with a text. Both are in the URL, so
// that they can be sent to somebody, and one can go back.

import { element } from './element.js';

export class Filter {
  // changed is called when something else is to be shown.
  constructor(form, changed) {
    Object.assign(this, { form, changed, offered: '', edits: false });
    form.addEventListener('input', () => this.choose());
    form.addEventListener('change', () => { this.edits = false; });
    form.addEventListener('submit', (event) => event.preventDefault());
    form.addEventListener('reset', (event) => {
      event.preventDefault(); // it would bring back what the browser restored
      this.edits = false;
      this.show({ namespace: '', text: '' });
      this.choose();
      this.form.elements.text.focus();
    });
    addEventListener('popstate', () => this.follow());
    this.show(this.named());
    this.read();
  }

  // named is what the URL names.
  named() {
    const named = new URLSearchParams(location.search);
    return { namespace: named.get('namespace') ?? '', text: named.get('text') ?? '' };
  }

  // follow shows what the URL names.
  follow() {
    this.edits = false;
    this.show(this.named());
    if (this.read()) this.changed();
  }

  // show has the controls show a choice. A namespace of which nothing waits can be chosen by the URL.
  show({ namespace, text }) {
    const { elements } = this.form;
    this.namespace = namespace;
    this.fill();
    if (elements.namespace.value !== namespace) elements.namespace.value = namespace;
    if (elements.text.value !== text) elements.text.value = text;
  }

  // choose has the URL name what the controls show. What is typed in one go is one step back.
  choose() {
    this.namespace = this.form.elements.namespace.value;
    const to = new URL(location.href);
    for (const name of ['namespace', 'text']) {
      const { value } = this.form.elements[name];
      if (value) to.searchParams.set(name, value);
      else to.searchParams.delete(name);
    }
    if (to.href !== location.href) {
      if (this.edits) history.replaceState(null, '', to);
      else history.pushState(null, '', to);
      this.edits = true;
    }
    if (this.read()) this.changed();
  }

  // read takes over what the controls show, and returns whether that is another choice.
  read() {
    const words = this.form.elements.text.value.toLowerCase().split(/\s+/).filter(Boolean);
    const now = JSON.stringify([this.namespace, words]);
    if (this.applied === now) return false;
    Object.assign(this, { words, applied: now });
    return true;
  }

  // active says that something may be left out.
  get active() {
    return this.namespace !== '' || this.words.length > 0;
  }

  // takes reports whether something is to be shown: of what namespace it is, and with which texts.
  takes(namespace, ...texts) {
    if (this.namespace !== '' && namespace !== this.namespace) return false;
    if (this.words.length === 0) return true;
    const said = texts.join(' ').toLowerCase();
    return this.words.every((word) => said.includes(word));
  }

  // offer has these namespaces be offered.
  offer(namespaces) {
    this.namespaces = [...namespaces].sort();
    this.fill();
  }

  // fill fills the list of namespaces. It is left alone while it has what it should.
  fill() {
    const names = [...new Set([...(this.namespaces ?? []), ...(this.namespace ? [this.namespace] : [])])].sort();
    const key = JSON.stringify(names);
    if (this.offered === key) return;
    this.offered = key;
    const list = this.form.elements.namespace;
    list.replaceChildren(element('option', { value: '' }, 'all'), ...names.map((name) => element('option', { value: name }, name)));
    list.value = this.namespace;
  }
}

// namespaceOf is the namespace of namespace/name.
export const namespaceOf = (name) => name.split('/')[0];

// none says that there is nothing, or nothing that the filter takes.
export const none = (filter, all, text) => element('p', { class: 'empty' }, filter.active && all > 0 ? 'None of them matches the filter.' : text);

// What is drawn again is merged into what is there: an element that shows the same thing stays, and only what differs in it is
// changed. So it keeps the focus, a selection, its scroll position and whether it is open, and little is laid out again.

// update gives an element these children. A child that is there already stays: the one with the same data-key, or without a
// key the first, second … of its name. It stays with its listeners; the new one's listeners are dropped.
export function update(into, ...children) {
  const made = document.createDocumentFragment();
  made.append(...children);
  adopt(into, made);
}

function adopt(into, made) {
  const there = Map.groupBy(into.childNodes, keyOf);
  const children = Array.from(made.childNodes, (child) => {
    const same = there.get(keyOf(child))?.shift();
    if (same) merge(same, child);
    return same ?? child;
  });
  for (const gone of [...there.values()].flat()) gone.remove();
  order(into, children);
}

const keyOf = (node) => `${node.nodeName} ${node.dataset?.key ?? ''}`;

function merge(old, made) {
  if (old.isEqualNode(made)) return;
  if (!(old instanceof Element)) {
    old.data = made.data;
    return;
  }
  for (const name of new Set([...old.getAttributeNames(), ...made.getAttributeNames()])) {
    const value = made.getAttribute(name);
    if (name === 'open' || old.getAttribute(name) === value) continue; // who reads the page opens details
    if (name === 'style') old.style.cssText = made.style.cssText; // the policy forbids the attribute
    else if (value === null) old.removeAttribute(name);
    else old.setAttribute(name, value);
  }
  adopt(old, made);
}

// order puts children into their order. The one with the focus, or else with the selection, is not moved: it would lose that.
function order(into, children) {
  if (children.length === into.childNodes.length && children.every((child, i) => child === into.childNodes[i])) return;
  const having = (node) => children.findIndex((child) => child.contains(node));
  const focused = having(document.activeElement);
  const held = focused >= 0 ? focused : having(selected());
  for (let i = held - 1; i >= 0; i--) {
    if (children[i].nextSibling !== children[i + 1]) into.insertBefore(children[i], children[i + 1]);
  }
  for (let i = held + 1; i < children.length; i++) {
    const there = i === 0 ? into.firstChild : children[i - 1].nextSibling;
    if (there !== children[i]) into.insertBefore(children[i], there);
  }
}

// selected is where the selection begins, null if there is none.
function selected() {
  const { isCollapsed, anchorNode } = getSelection();
  return isCollapsed ? null : anchorNode;
}

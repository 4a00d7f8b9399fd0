// What is cut at the width of the window: the page that scrolls sideways, texts beyond an edge, and texts that something hides;
// and values that are no text.
// What scrolls in a region of its own is not cut if the keyboard reaches the region, and it has a name.
(() => {
  const bad = [];
  const wide = document.documentElement;
  if (wide.scrollWidth > innerWidth) bad.push('the page is ' + wide.scrollWidth + ' px wide in a window of ' + innerWidth);
  const say = (element) => element.tagName + (element.id && '#' + element.id) + ' "' + element.textContent.trim().slice(0, 40) + '"';
  const regions = new Set();
  for (const element of document.body.querySelectorAll('*')) {
    if (element instanceof SVGElement || !element.checkVisibility() || element.scrollWidth <= element.clientWidth + 1) continue;
    const { overflowX, textOverflow, display } = getComputedStyle(element);
    if (overflowX === 'visible' || display === 'inline') continue;
    if (overflowX === 'auto' || overflowX === 'scroll') {
      if (element.tabIndex !== 0 || element.getAttribute('role') !== 'region' || !element.getAttribute('aria-label')) {
        bad.push('the keyboard does not scroll ' + say(element));
      }
      regions.add(element);
    } else if (textOverflow !== 'ellipsis') bad.push('it is hidden what is beyond ' + say(element));
  }
  const nonsense = document.body.innerText.match(/.*(\[object|undefined|NaN).*/);
  if (nonsense) bad.push('it says ' + nonsense[0]);
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !element.checkVisibility() || element.closest('.skip, select')) continue;
    let around = element;
    while (around && !regions.has(around) && getComputedStyle(around).textOverflow !== 'ellipsis') around = around.parentElement;
    if (around) continue;
    range.selectNodeContents(texts.currentNode);
    const { left, right } = range.getBoundingClientRect();
    if (left < 0 || right > innerWidth + 0.5) bad.push('beyond the edge, from ' + left + ' to ' + right + ': ' + say(element));
    const panel = element.closest('section');
    if (panel && right > panel.getBoundingClientRect().right) bad.push('beyond its panel: ' + say(element));
  }
  return [...new Set(bad)];
})()

// The controls without a name, and what a page should have and this one has not.
(() => {
  const missing = [];
  for (const what of [
    'header h1', 'main', 'footer', 'h2', '[role=status]', 'a.skip', '#heat-empty:not([hidden]), [role=listbox] li[role=option][tabindex="0"]', 'html[lang]',
  ]) {
    if (!document.querySelector(what)) missing.push('there is no ' + what);
  }
  if (document.querySelectorAll('main, h1').length !== 2) missing.push('there is more than one main or h1');
  const named = 'a, button, input, select, summary, [role=listbox], [role=option], [role=region], [role=group], [role=img]';
  for (const control of document.querySelectorAll(named)) {
    const name = control.getAttribute('aria-label') || control.labels?.[0]?.textContent || control.textContent;
    if (!name?.trim()) missing.push(control.outerHTML + ' has no name');
  }
  for (const section of document.querySelectorAll('section')) {
    if (!document.getElementById(section.getAttribute('aria-labelledby'))?.textContent) missing.push('a section has no name');
  }
  const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
  if (new Set(ids).size !== ids.length) missing.push('an id is there twice');
  return missing;
})()

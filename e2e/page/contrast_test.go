package page

import "strings"

// contrast returns the texts whose contrast with what is behind them is too small by WCAG 2.2 AA:
// 4.5, or 3 for large ones. Gradients are left out of account.
const contrast = `(() => {
  const parse = (color) => { const [r, g, b, a = 1] = color.match(/[\d.]+/g).map(Number); return { r, g, b, a }; };
  const over = (top, under) => {
    const mix = (a, b) => a * top.a + b * (1 - top.a);
    return { r: mix(top.r, under.r), g: mix(top.g, under.g), b: mix(top.b, under.b), a: 1 };
  };
  const linear = (c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const luminance = ({ r, g, b }) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const behind = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) layers.push(parse(getComputedStyle(e).backgroundColor));
    return layers.reduceRight((under, top) => over(top, under), { r: 255, g: 255, b: 255, a: 1 });
  };
  const bad = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let seen = 0;
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.textContent.trim() || !element.checkVisibility() || element.closest('.skip')) continue;
    seen++;
    const style = getComputedStyle(element);
    const ground = behind(element);
    const ink = over(parse(element instanceof SVGElement ? style.fill : style.color), ground);
    const [light, dark] = [luminance(ink), luminance(ground)].sort((a, b) => b - a);
    const ratio = (light + 0.05) / (dark + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || size >= 18.66 && style.fontWeight >= 700;
    if (ratio < (large ? 3 : 4.5)) {
      bad.push(element.tagName + ' "' + texts.currentNode.textContent.trim() + '": ' + ratio.toFixed(2));
    }
  }
  return seen < 20 ? ['only ' + seen + ' texts were seen'] : bad;
})()`

// swatches are the levels of the map whose ink, which large cells are written in, is hard to read.
const swatches = `(() => {
  const cell = document.querySelector('#heat li');
  const level = cell.dataset.level;
  const linear = (c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const luminance = (color) => color.match(/[\d.]+/g).slice(0, 3).map(Number)
    .reduce((sum, c, i) => sum + [0.2126, 0.7152, 0.0722][i] * linear(c), 0);
  const bad = [];
  for (let i = 0; i <= 10; i++) {
    cell.dataset.level = i;
    const style = getComputedStyle(cell);
    const [light, dark] = [luminance(style.color), luminance(style.backgroundColor)].sort((a, b) => b - a);
    if ((light + 0.05) / (dark + 0.05) < 4.5) bad.push('level ' + i + ': ' + style.color + ' on ' + style.backgroundColor);
  }
  cell.dataset.level = level;
  return bad;
})()`

// nameless are the controls without a name, and what a page should have and this one has not.
const nameless = `(() => {
  const missing = [];
  for (const what of [
    'header h1', 'main', 'footer', 'h2', '[role=status]', 'a.skip', '[role=listbox] li[role=option][tabindex="0"]', 'html[lang]',
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
})()`

// isAccessible checks what a program can.
func (b *browser) isAccessible(theme string) {
	b.Helper()
	b.theme(theme)
	for what, check := range map[string]string{"names": nameless, "contrast": contrast, "colours of the map": swatches} {
		if bad := eval[[]string](b, check); len(bad) > 0 {
			b.Errorf("%s, %s:\n%s", theme, what, strings.Join(bad, "\n"))
		}
	}
}

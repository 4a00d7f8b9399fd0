// The texts whose contrast with what is behind them is too small by WCAG 2.2 AA: 4.5, or 3 for large ones. Gradients are left
// out of account.
(() => {
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
})()

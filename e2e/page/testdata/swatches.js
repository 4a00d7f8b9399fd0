// The levels of the map whose ink, which large cells are written in, is hard to read.
(() => {
  const cell = document.querySelector('#heat li');
  if (!cell) return [];
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
})()

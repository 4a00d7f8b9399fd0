// The last hour: what waited, and what happened, minute by minute.

import { element, scrolled, table } from './element.js';
import { exactly } from './times.js';
import { count } from './units.js';
import { update } from './update.js';

const hour = 60; // minutes
const wide = 240;
const high = 40; // as in viewBox

const series = [
  { name: 'pods waiting', of: 'podsWaiting' },
  { name: 'gangs waiting', of: 'gangsWaiting' },
  { name: 'pods bound a minute', of: 'podsBound' },
  { name: 'calls a minute', of: 'calls' },
  { name: 'failed calls a minute', of: 'failedCalls', bad: true },
];

export function drawPast(into, answer) {
  if (answer instanceof Error) {
    update(into, element('p', { class: 'empty' }, answer.message));
    return;
  }
  const { minutes } = answer;
  if (minutes.length === 0) {
    update(into, element('p', { class: 'empty' }, 'Nothing yet: the first minute is not over. It is kept in memory, and begins with the process.'));
    return;
  }
  update(
    into,
    element('div', { class: 'charts' }, series.map((one) => chart(one, minutes))),
    element('details', {},
      element('summary', {}, 'The last hour as a table'),
      scrolled('Table of the last hour', table('Each minute, the latest first', ['Until', ...series.map(({ name }) => `#${name}`)],
        minutes.toReversed().map((minute) => [exactly(minute.end), ...series.map(({ of }) => count(minute[of]))])))),
  );
}

// chart has a bar for each minute; the last one is at the right.
function chart({ name, of, bad }, minutes) {
  const last = minutes.at(-1);
  const most = minutes.reduce((a, b) => (b[of] > a[of] ? b : a));
  const step = wide / hour;
  const bars = minutes.map((minute) => {
    const x = wide - step * (0.5 + Math.round((Date.parse(last.end) - Date.parse(minute.end)) / 60000));
    return minute[of] > 0 ? `M${x},${high}V${high - Math.max(1.5, (high - 2) * minute[of] / most[of])}` : '';
  });
  const peak = most[of] > last[of] ? `at most ${count(most[of])}, at ${exactly(most.end)}` : 'the most so far';
  return element('figure', { 'data-key': of },
    element('figcaption', {}, element('strong', {}, count(last[of])), ` ${name}`, element('small', {}, most[of] === 0 ? 'none since' : peak, most[of] === 0 && ` ${exactly(minutes[0].end)}`)),
    element('svg', { viewBox: `0 0 ${wide} ${high}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': `${name} from ${exactly(minutes[0].end)} to ${exactly(last.end)}: ${count(last[of])} at the end, at most ${count(most[of])}` },
      element('line', { x1: 0, x2: wide, y1: high, y2: high }),
      element('path', { class: bad ? 'bars bad' : 'bars', d: bars.join('') || null })));
}

// Times as people read them: how long ago, and exactly.

import { element } from './element.js';

const minute = 60000; // ms

// ago is how long ago something was, coarsely.
function ago(time) {
  const minutes = Math.floor((Date.now() - Date.parse(time)) / minute);
  if (!(minutes >= 1)) return 'less than a minute'; // also where the clocks of two machines differ
  if (minutes < 120) return `${minutes} min`;
  return minutes < 48 * 60 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / 60 / 24)} days`;
}

// exactly is a time of today, or with its day.
export function exactly(time) {
  const at = new Date(time);
  return at.toDateString() === new Date().toDateString() ? at.toLocaleTimeString() : at.toLocaleString();
}

// elapsed is how long ago something was. It is brought up to date by tick.
export const elapsed = (time) => element('time', { datetime: time, class: 'ago' }, ago(time));

// waits says how long something waits, and since when: nothing where that is not known.
export const waits = (time) => (time ? ['waits for ', elapsed(time), `, since ${exactly(time)}`] : []);

// tick has what is shown go on with the time, where nothing else changes.
export function tick() {
  for (const one of document.querySelectorAll('time.ago')) {
    const now = ago(one.dateTime);
    if (one.firstChild.data !== now) one.firstChild.data = now;
  }
}

// earliest returns the earliest of some times, undefined without any.
export const earliest = (times) => times.filter(Boolean).sort((a, b) => Date.parse(a) - Date.parse(b))[0];

// Endpoints are asked again and again, with the ETag of the last answer, so that nothing is sent
// that has not changed. A page that is hidden or paused asks nobody.

import { ask, Refused } from './ask.js';

const interval = 2000; // ms between two rounds, if answers are quick
const slowest = 30000;

export class Live {
  // tell is called with the name of an endpoint and its answer, or a Refused, and returns whether it has drawn it: what it
  // has not is told again in the next round. round is called after each round with whether anybody answered, and the names of
  // the endpoints that had anything new to tell.
  constructor(paths, tell, round) {
    Object.assign(this, { paths, tell, round, paused: false, failures: 0, drawn: new Map(), timer: 0, asking: false });
    document.addEventListener('visibilitychange', () => this.resume());
  }

  pause(paused) {
    this.paused = paused;
    this.resume();
  }

  resume() {
    clearTimeout(this.timer);
    if (!this.paused && !document.hidden && !this.asking) this.ask();
  }

  async ask() {
    this.asking = true;
    const started = performance.now();
    const names = Object.keys(this.paths);
    const answers = await Promise.all(names.map((name) => this.one(name, this.paths[name])));
    const took = performance.now() - started;
    this.asking = false;
    this.failures = answers.some(({ reached }) => reached) ? 0 : this.failures + 1;
    this.round(this.failures === 0, names.filter((_, i) => answers[i].told));
    if (this.paused || document.hidden) return;
    // A slow server is asked less often, and one that is away ever less.
    this.timer = setTimeout(() => this.ask(), Math.min(slowest, Math.max(interval * 2 ** Math.min(this.failures, 4), 10 * took)));
  }

  // one asks one endpoint, and returns whether it was reached and told anything new.
  async one(name, path) {
    const last = this.drawn.get(name);
    let now;
    try {
      now = await ask(path, last?.etag);
    } catch (error) {
      if (!(error instanceof Refused)) return { reached: false };
      now = { told: error, refusal: error.message };
    }
    if (now.told === undefined || now.refusal && now.refusal === last?.refusal) return { reached: true };
    if (this.tell(name, now.told)) this.drawn.set(name, { etag: now.etag, refusal: now.refusal });
    else this.drawn.delete(name);
    return { reached: true, told: true };
  }
}

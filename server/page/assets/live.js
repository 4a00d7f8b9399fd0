// Endpoints are asked again and again, with the ETag of the last answer, so that nothing is sent
// that has not changed. A page that is hidden or paused asks nobody.

const interval = 2000; // ms between two rounds, if answers are quick
const slowest = 30000;

export class Live {
  // tell is called with the name of an endpoint and its answer, or an Error; round after each round
  // with whether anybody answered.
  constructor(paths, tell, round) {
    Object.assign(this, { paths, tell, round, paused: false, failures: 0, etags: new Map(), timer: 0, asking: false });
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
    const reached = await Promise.all(Object.entries(this.paths).map(([name, path]) => this.one(name, path)));
    const took = performance.now() - started;
    this.asking = false;
    this.failures = reached.some(Boolean) ? 0 : this.failures + 1;
    this.round(this.failures === 0);
    if (this.paused || document.hidden) return;
    // A slow server is asked less often, and one that is away ever less.
    this.timer = setTimeout(() => this.ask(), Math.min(slowest, Math.max(interval * 2 ** Math.min(this.failures, 4), 10 * took)));
  }

  // one asks one endpoint, and returns whether it was reached.
  async one(name, path) {
    const headers = { Accept: 'application/json' };
    if (this.etags.has(name)) headers['If-None-Match'] = this.etags.get(name);
    try {
      const answer = await fetch(path, { headers, cache: 'no-store', signal: AbortSignal.timeout(slowest) });
      if (answer.status === 304) return true;
      const type = answer.headers.get('Content-Type') ?? '';
      const body = type.startsWith('application/json') ? await answer.json() : {};
      if (!answer.ok && typeof body.error !== 'string') return false; // a proxy answers in muster's place
      this.etags.delete(name);
      if (answer.ok && answer.headers.has('ETag')) this.etags.set(name, answer.headers.get('ETag'));
      this.tell(name, answer.ok ? body : new Error(body.error));
      return true;
    } catch {
      return false; // round tells
    }
  }
}

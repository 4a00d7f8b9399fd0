const patience = 30000; // ms

// Refused is an error that muster tells of itself, with the status of its answer.
export class Refused extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

// Unreachable is the error of whom muster does not answer.
export class Unreachable extends Error {}

// ask asks muster once, with the ETag of an earlier answer if there is one. It returns what is told, undefined if that has
// not changed, and its ETag. It throws Refused or Unreachable.
export async function ask(path, etag, signal) {
  const headers = { Accept: 'application/json' };
  if (etag) headers['If-None-Match'] = etag;
  const signals = [AbortSignal.timeout(patience), ...(signal ? [signal] : [])];
  let answer;
  let told;
  try {
    answer = await fetch(path, { headers, cache: 'no-store', signal: AbortSignal.any(signals) });
    if (answer.status === 304) return { etag };
    told = await answer.json();
  } catch {
    throw new Unreachable('muster cannot be reached, or takes too long.');
  }
  if (answer.ok) return { told, etag: answer.headers.get('ETag') };
  if (typeof told.error === 'string') throw new Refused(told.error, answer.status);
  throw new Unreachable(told.message ?? `The answer has status ${answer.status}.`); // a proxy answers in muster's place
}

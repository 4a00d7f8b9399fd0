const patience = 30000; // ms

// ask asks muster once, and throws an Error with what is wrong.
export async function ask(path) {
  let answer;
  let told;
  try {
    answer = await fetch(path, { headers: { Accept: 'application/json' }, cache: 'no-store', signal: AbortSignal.timeout(patience) });
    told = await answer.json();
  } catch {
    throw new Error('muster cannot be reached, or takes too long.');
  }
  if (!answer.ok) throw new Error(told.error ?? told.message ?? `The answer has status ${answer.status}.`);
  return told;
}

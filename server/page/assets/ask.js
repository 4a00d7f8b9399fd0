// ask asks muster once, and throws an Error with what is wrong.
export async function ask(path) {
  let answer;
  let told;
  try {
    answer = await fetch(path, { headers: { Accept: 'application/json' }, cache: 'no-store' });
    told = await answer.json();
  } catch {
    throw new Error('muster cannot be reached.');
  }
  if (!answer.ok) throw new Error(told.error ?? answer.statusText);
  return told;
}

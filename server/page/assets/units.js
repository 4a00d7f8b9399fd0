// Figures as people read them.

const plain = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

// A formatter is dear, and most numbers are small.
export const count = (n) => (Number.isInteger(n) && n >= 0 && n < 1000 ? String(n) : plain.format(n));

export const percent = (share) => (Number.isFinite(share) ? `${count(Math.round(100 * share))} %` : '–');

export function bytes(n) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let i = 0;
  for (; n >= 1024 && i < units.length - 1; i++) n /= 1024;
  return `${n >= 100 ? plain.format(n) : Number(n.toPrecision(3))} ${units[i]}`;
}

// level is a share as one of the colours, 0 to 10; the last is for what is full.
export function level(share) {
  if (!Number.isFinite(share)) return 'none';
  return share >= 0.95 ? 10 : Math.floor(Math.max(0, share) * 10 + 1e-9);
}

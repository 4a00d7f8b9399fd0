// What nodes offer: CPU, memory and extended resources such as GPUs.

import { bytes, count } from './units.js';

const plain = { cpu: 'CPU', memory: 'memory' };

// amountOf is the amount of a resource among others, NaN if it is not among them.
export const amountOf = (amounts, resource) => (resource in plain ? amounts[resource] : amounts.extended?.[resource]) ?? NaN;

// extendedOf are the names of all extended resources that nodes offer.
export function extendedOf(nodes) {
  const names = new Set();
  for (const { allocatable } of nodes) for (const name of Object.keys(allocatable.extended ?? {})) names.add(name);
  return [...names].sort();
}

// device matches the names of what machines are bought for.
const device = /gpu|tpu|npu|\/mig-|neuron|gaudi|accelerator/i;

// rank orders resources by how much they matter: devices, other extended resources, the rest, and huge pages.
const rank = (name) => (device.test(name) ? 0 : name.startsWith('hugepages-') ? 3 : name.includes('/') ? 1 : 2);

// extendedByWeight are the extended resources that nodes offer or pods request, with the share that is requested of each, NaN
// if none is offered: the ones that matter most first, and among equal ones the most requested.
export function extendedByWeight(nodes) {
  const all = new Map();
  for (const { allocatable, requested } of nodes) {
    for (const [name, whole] of Object.entries(allocatable.extended ?? {})) {
      if (!all.has(name)) all.set(name, { name, whole: 0, requested: 0 });
      const one = all.get(name);
      one.whole += whole;
      one.requested += requested.extended?.[name] ?? 0;
    }
  }
  return [...all.values()].filter((one) => one.whole > 0 || one.requested > 0)
    .map(({ name, whole, requested }) => ({ name, requested, share: whole > 0 ? requested / whole : NaN }))
    .sort((a, b) => rank(a.name) - rank(b.name) || (b.share || 0) - (a.share || 0) || a.name.localeCompare(b.name));
}

// wordFor is a resource as people call it.
export const wordFor = (resource) => plain[resource] ?? resource;

// shareOf is how much of what a node offers is requested or used; NaN when that is not known.
export function shareOf(node, measure, resource) {
  const whole = amountOf(node.allocatable, resource);
  return node[measure] && whole > 0 ? amountOf(node[measure], resource) / whole : NaN;
}

// shareOfAll is the same of all nodes together, as far as it is known of them.
export function shareOfAll(nodes, measure, resource) {
  let part = 0;
  let whole = 0;
  for (const node of nodes) {
    if (Number.isNaN(shareOf(node, measure, resource))) continue;
    part += amountOf(node[measure], resource);
    whole += amountOf(node.allocatable, resource);
  }
  return part / whole;
}

// amount writes an amount of a resource: of CPU, thousandths.
export function amount(resource, n) {
  if (!Number.isFinite(n)) return '–';
  if (resource === 'cpu') return `${short.format(n / 1000)} cores`;
  return resource === 'memory' || resource === 'ephemeral-storage' || resource.startsWith('hugepages-') ? bytes(n) : count(n);
}

const short = new Intl.NumberFormat('en', { maximumSignificantDigits: 3, notation: 'compact' });

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

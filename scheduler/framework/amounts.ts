const units = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
/** Numbers beyond this say more in a larger unit, rounded. */
const readable = 100_000;
/** Two digits behind the point say too little of what is less. */
const side = 0.1;

/**
 * What is needed and what there is of it, in one unit, to be read side by side: ["2", "1.4"], ["1Gi", "0.73Gi"]. What
 * there is, is less; far less is in a unit of its own: ["1Ti", "23.5Gi"].
 */
export function wordAmounts(resource: string, needed: number, there: number): [needed: string, there: string] {
  if (resource === 'cpu') return [String(needed / 1000), String(there / 1000)];
  if (resource === 'memory' || resource === 'ephemeral-storage') return wordBytes(needed, there);
  return [String(needed), String(there)];
}

/**
 * In the unit that the pod is likely to have it in: the largest that leaves an integer. What does not come out even is
 * rounded away from the other.
 */
function wordBytes(needed: number, there: number): [string, string] {
  let unit = 0;
  while (unit < units.length - 1 && needed > 0 && needed % 1024 ** (unit + 1) === 0) unit += 1;
  while (unit < units.length - 1 && needed / 1024 ** unit >= readable) unit += 1;
  let own = unit;
  while (own > 0 && there > 0 && there / 1024 ** own < side) own -= 1;
  const word = (amount: number, at: number) => (amount === 0 ? '0' : `${amount}${units[at]}`);
  return [word(Math.ceil((needed / 1024 ** unit) * 100) / 100, unit), word(Math.floor((there / 1024 ** own) * 100) / 100, own)];
}

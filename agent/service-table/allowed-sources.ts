import { addressNumber, isInRange, rangeAround } from '../../api/meta/address-range.ts';

/**
 * The sources that may use an address: ranges that are apart, as nft takes them in one set, in their order. What is
 * no IPv4 range is passed over, so that it lets nothing in. The address itself is among them: the node that has it
 * dials it with it, and no packet from elsewhere has it. Pure.
 */
export function allowedSources(ranges: readonly string[], address: string): 'all' | readonly string[] {
  const parsed = [...ranges, address].flatMap((text) => {
    const [base = '', length = '32'] = text.trim().split('/');
    const number = addressNumber(base);
    return number !== undefined && /^(3[0-2]|[12]?\d)$/.test(length) ? [rangeAround(number, Number(length))] : [];
  });
  if (parsed.some(({ length }) => length === 0)) return 'all';
  // Two ranges are apart, or one contains the other, which then comes first.
  const kept: typeof parsed = [];
  for (const range of parsed.toSorted((a, b) => a.first - b.first || b.size - a.size)) {
    const before = kept.at(-1);
    if (before === undefined || !isInRange(before, range.first)) kept.push(range);
  }
  return kept.map(({ text }) => text);
}

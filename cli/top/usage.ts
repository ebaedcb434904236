import type { Quantity, Timestamp } from '../../api/generated/types.ts';
import { UNKNOWN } from '../../api/kinds/cells.ts';
import { cpuCell, memoryCell } from '../../api/kinds/usage-cells.ts';
import { quantityMilli, quantityValue } from '../../api/meta/quantity.ts';
import { toMillis } from '../../api/meta/time.ts';
import { formatAge } from '../printers/age.ts';

export type SortColumn = 'cpu' | 'memory';

/** CPU in thousandths of a core, memory in bytes; undefined before the first measurement. */
export interface Usage {
  readonly cpu: number | undefined;
  readonly memory: number | undefined;
}

/** What `top` prints: rows below headings, and what a reader should know about the figures. */
export interface TopTable {
  readonly headings: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** One sentence for each object with missing or old figures. */
  readonly warnings: readonly string[];
}

/**
 * Agents report every 15 s, and Node.status.usage at least every 60 s;
 * older figures mean that the agent no longer reports.
 */
export const staleMs = 90_000;

export function readUsage(amounts: { readonly cpu?: Quantity; readonly memory?: Quantity } | undefined): Usage {
  return {
    cpu: amounts?.cpu && quantityMilli(amounts.cpu),
    memory: amounts?.memory && quantityValue(amounts.memory),
  };
}

/** What is known of the parts, together; a figure that no part has stays unknown. */
export function sumUsage(parts: readonly Usage[]): Usage {
  const sum = (name: SortColumn): number | undefined => {
    const known = parts.map((part) => part[name]).filter((amount) => amount !== undefined);
    return known.length === 0 ? undefined : known.reduce((total, amount) => total + amount, 0);
  };
  return { cpu: sum('cpu'), memory: sum('memory') };
}

export function cpuText(milli: number | undefined): string {
  return milli === undefined ? UNKNOWN : cpuCell({ string: `${milli}m` });
}

export function memoryText(bytes: number | undefined): string {
  return bytes === undefined ? UNKNOWN : memoryCell({ string: String(bytes) });
}

/** "12%", rounded down as kubectl does. */
export function percentText(amount: number | undefined, of: number): string {
  return amount === undefined || of <= 0 ? UNKNOWN : `${Math.floor((amount * 100) / of)}%`;
}

/** By the largest figure first, or by name. Unknown figures come last. */
export function orderUsage<T extends { readonly usage: Usage; readonly key: string }>(
  items: readonly T[],
  by: SortColumn | undefined,
): T[] {
  const byName = (a: T, b: T): number => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0);
  if (by === undefined) return items.toSorted(byName);
  return items.toSorted((a, b) => (b.usage[by] ?? -1) - (a.usage[by] ?? -1) || byName(a, b));
}

/** How old figures are, when they are too old to be believed. */
export function staleAge(read: Timestamp | undefined, nowMs: number): string | undefined {
  const age = read === undefined ? 0 : nowMs - toMillis(read);
  return age > staleMs ? formatAge(age) : undefined;
}

/** The warning about a node whose figures are old. */
export function staleText(node: string, age: string): string {
  return `the figures of node "${node}" are ${age} old: its agent does not report; see "berth describe node ${node}"`;
}

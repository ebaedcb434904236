import type { ListEntry } from './observe.ts';

/** What a container of the pool is called until it is claimed. */
export const freePrefix = 'berth_pool_';

export interface WarmFacts {
  /** Named by a sandbox, or claimed by one that is being made. */
  readonly inUse: ReadonlySet<string>;
  /** Known to wait. */
  readonly waiting: ReadonlySet<string>;
  /** What they are to run: those of an older Berth are replaced. */
  readonly image: string;
  readonly size: number;
}

/** Which containers of the pool are no good any more, and which an agent before left that are. Pure. */
export function decideWarm(
  entries: readonly ListEntry[],
  { inUse, waiting, image, size }: WarmFacts,
): { readonly remove: string[]; readonly adopt: string[] } {
  const remove: string[] = [];
  const adopt: string[] = [];
  let room = size;
  for (const entry of entries) {
    if (inUse.has(entry.Id)) continue;
    const isFree = (entry.Names ?? []).some((name) => name.startsWith(`/${freePrefix}`));
    const isGood = isFree && entry.State === 'running' && entry.Image === image && room > 0;
    if (isGood) room--;
    if (!isGood) remove.push(entry.Id);
    else if (!waiting.has(entry.Id)) adopt.push(entry.Id);
  }
  return { remove, adopt };
}

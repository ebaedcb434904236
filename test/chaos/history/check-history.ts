import type { Change, WriteRecord } from './write-record.ts';

/**
 * The first version of each life of the server: what was written in round r lies above `starts[r]` and not above
 * `starts[r + 1]`.
 */
export type RoundStarts = readonly number[];

/**
 * Compares what clients were told with the log of what is stored, and answers every contradiction as a sentence: an
 * acknowledged write that is missing or another one, a revision that was given out twice, a change that was not
 * requested or was refused, one write that happened twice, a compare-and-swap that swapped something else, a write that
 * happened after its server had died, and revisions against the order of time.
 */
export function checkHistory(writes: readonly WriteRecord[], log: readonly Change[], starts: RoundStarts): string[] {
  return [
    ...checkOrder(log),
    ...checkAcknowledged(writes, log),
    ...checkOrigins(writes, log, starts),
    ...checkBases(writes, log),
    ...checkTime(writes),
  ];
}

/** The log itself: revisions rise, and what happens to a key makes sense. */
function checkOrder(log: readonly Change[]): string[] {
  const found: string[] = [];
  const alive = new Set<string>();
  let last = 0;
  for (const change of log) {
    if (change.revision <= last) found.push(`the log has revision ${change.revision} behind ${last}`);
    last = change.revision;
    const exists = alive.has(change.name);
    if (exists === (change.type === 'ADDED')) found.push(`${say(change)}: it ${exists ? 'was there' : 'was not there'}`);
    if (change.type === 'DELETED') alive.delete(change.name);
    else alive.add(change.name);
  }
  return found;
}

function checkAcknowledged(writes: readonly WriteRecord[], log: readonly Change[]): string[] {
  const found: string[] = [];
  const byRevision = new Map(log.map((change) => [change.revision, change]));
  const given = new Set<number>();
  for (const write of writes) {
    if (write.outcome !== 'acknowledged') continue;
    const revision = write.revision ?? 0;
    if (given.has(revision)) found.push(`revision ${revision} was given out twice: ${sayWrite(write)}`);
    given.add(revision);
    const change = byRevision.get(revision);
    if (!change) found.push(`lost: ${sayWrite(write)}`);
    else if (!isEffect(write, change)) found.push(`at ${revision} stands "${say(change)}", acknowledged was: ${sayWrite(write)}`);
  }
  return found;
}

const types = { create: 'ADDED', update: 'MODIFIED', delete: 'DELETED' } as const;

function isEffect(write: WriteRecord, change: Change): boolean {
  return types[write.type] === change.type && write.name === change.name && (write.step ?? change.step) === change.step;
}

/**
 * Each change is one acknowledged write, or one whose outcome is unknown,
 * begun in the life of the server in which it happened.
 */
function checkOrigins(writes: readonly WriteRecord[], log: readonly Change[], starts: RoundStarts): string[] {
  const found: string[] = [];
  const acknowledged = new Set(writes.map(({ outcome, revision }) => (outcome === 'acknowledged' ? revision : undefined)));
  const open = new Map<string, WriteRecord[]>();
  for (const write of writes)
    if (write.outcome === 'indeterminate') open.set(originKey(write), [...(open.get(originKey(write)) ?? []), write]);
  for (const change of log) {
    if (acknowledged.has(change.revision)) continue;
    const round = starts.findLastIndex((start) => start < change.revision);
    const candidates = open.get(originKeyOf(change)) ?? [];
    const index = candidates.findIndex((write) => write.round === round);
    if (index < 0) found.push(`nobody asked for this in round ${round}, or it happened twice: ${say(change)}`);
    else candidates.splice(index, 1);
  }
  return found;
}

/** Steps are unique, so they name their write; of deletes only the object's name is known. */
const originKey = ({ type, name, step }: WriteRecord): string => `${types[type]} ${name} ${step ?? ''}`;
const originKeyOf = ({ type, name, step }: Change): string => `${type} ${name} ${type === 'DELETED' ? '' : step}`;

/** A compare-and-swap that happened stands behind the version that it named. */
function checkBases(writes: readonly WriteRecord[], log: readonly Change[]): string[] {
  const found: string[] = [];
  const byRevision = new Map<number, number>();
  const byStep = new Map<string, number>();
  for (const { base, step, revision } of writes) {
    if (base === undefined) continue;
    if (revision !== undefined) byRevision.set(revision, base);
    else if (step !== undefined) byStep.set(step, base);
  }
  const newest = new Map<string, number>();
  for (const change of log) {
    const base = byRevision.get(change.revision) ?? (change.type === 'DELETED' ? undefined : byStep.get(change.step));
    const before = newest.get(change.name);
    if (base !== undefined && base !== before) found.push(`${say(change)} was based on ${base}, but replaced ${before}`);
    newest.set(change.name, change.revision);
  }
  return found;
}

/** A write that began after another had been acknowledged has the higher revision. */
function checkTime(writes: readonly WriteRecord[]): string[] {
  const found: string[] = [];
  const done = writes.filter((write) => write.outcome === 'acknowledged');
  const byEnd = done.toSorted((a, b) => (a.returnedAt ?? 0) - (b.returnedAt ?? 0));
  let next = 0;
  let highest = 0;
  for (const write of done.toSorted((a, b) => a.invokedAt - b.invokedAt)) {
    for (; next < byEnd.length && (byEnd[next]!.returnedAt ?? 0) < write.invokedAt; next++)
      highest = Math.max(highest, byEnd[next]!.revision ?? 0);
    if ((write.revision ?? 0) <= highest) found.push(`${highest} was acknowledged before this began: ${sayWrite(write)}`);
  }
  return found;
}

export const say = ({ type, name, revision, step }: Change): string => `${type} ${name} ${step} at ${revision}`;

const sayWrite = ({ type, name, step, base, round, revision }: WriteRecord): string =>
  `${type} ${name} ${step ?? ''} from ${base ?? 'any version'} at ${revision} in round ${round}`;

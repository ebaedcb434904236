/**
 * The operations of a client on one object, and their answers. The object is a register that may be absent; every write
 * writes a value of its own, so a value names a version. `swap` replaces exactly one version. Instants are ticks of one
 * counter for all clients.
 */
export interface Operation {
  readonly type: 'get' | 'create' | 'put' | 'swap' | 'delete' | 'delete-swap';
  /** What a create, put or swap writes; what a get found (undefined: nothing). */
  readonly value?: string | undefined;
  /** The version that a swap names. */
  readonly expected?: string | undefined;
  readonly invokedAt: number;
  /** Infinity when no answer came: it took effect at any time afterwards, or never. */
  readonly returnedAt: number;
  /** `unknown` when no answer came. */
  readonly answer: 'ok' | 'exists' | 'not-found' | 'conflict' | 'unknown';
}

export type Verdict =
  | { readonly ok: true }
  /** As much as can be put in an order, the value there, and what then cannot have answered as it did. */
  | {
      readonly ok: false;
      readonly ordered: readonly Operation[];
      readonly value: string | undefined;
      readonly stuck: readonly Operation[];
    };

type Value = string | undefined;

/** What an object does without concurrency: the value after it and the answer. */
export function apply(operation: Operation, before: Value): { after: Value; answer: Operation['answer'] } {
  const { type, value, expected } = operation;
  const absent = before === undefined;
  switch (type) {
    case 'get':
      return { after: before, answer: absent ? 'not-found' : 'ok' };
    case 'create':
      return absent ? { after: value, answer: 'ok' } : { after: before, answer: 'exists' };
    case 'put':
      return absent ? { after: before, answer: 'not-found' } : { after: value, answer: 'ok' };
    case 'swap':
      return absent
        ? { after: before, answer: 'not-found' }
        : before === expected
          ? { after: value, answer: 'ok' }
          : { after: before, answer: 'conflict' };
    case 'delete':
      return absent ? { after: before, answer: 'not-found' } : { after: undefined, answer: 'ok' };
    case 'delete-swap':
      return absent
        ? { after: before, answer: 'not-found' }
        : before === expected
          ? { after: undefined, answer: 'ok' }
          : { after: before, answer: 'conflict' };
  }
}

/**
 * Whether the object can answer like this now; the value afterwards. One without an answer always can:
 * what it does shows later.
 */
function step(operation: Operation, before: Value): { after: Value } | undefined {
  const { after, answer } = apply(operation, before);
  if (operation.answer === 'unknown') return { after };
  if (answer !== operation.answer) return undefined;
  if (operation.type === 'get' && operation.value !== before) return undefined;
  return { after };
}

/** A place in the search: what has been put in order so far, and the value behind it. */
interface Place {
  /** Every operation before this one is in order. */
  readonly first: number;
  /** And these behind it, ascending. */
  readonly also: readonly number[];
  readonly value: Value;
  readonly last: Operation | undefined;
  readonly before: Place | undefined;
}

/**
 * Wing and Gong's search with Lowe's memory: is there one order of all operations, true to time, in which a single
 * object would have given these answers? Operations without an answer may stand anywhere behind their beginning; where
 * they do nothing they stand at the end.
 */
export function checkLinearizable(operations: readonly Operation[]): Verdict {
  const sorted = operations.toSorted((a, b) => a.invokedAt - b.invokedAt);
  const answered = sorted.filter(({ answer }) => answer !== 'unknown').length;
  const known = new Set<string>();
  const open: Place[] = [{ first: 0, also: [], value: undefined, last: undefined, before: undefined }];
  let best = { place: open[0]!, count: -1 };
  for (let place = open.pop(); place; place = open.pop()) {
    const count = answeredBefore(sorted, place);
    if (count === answered) return { ok: true };
    if (count > best.count) best = { place, count };
    // The earliest last, so that it is tried first.
    for (const index of candidates(sorted, place).toReversed()) {
      const next = go(sorted, place, index);
      if (!next) continue;
      const key = `${next.first}|${next.also.join()}|${next.value ?? ''}|${next.value === undefined}`;
      if (known.has(key)) continue;
      known.add(key);
      open.push(next);
    }
  }
  const stuck = candidates(sorted, best.place).map((index) => sorted[index]!);
  return { ok: false, ordered: orderOf(best.place), value: best.place.value, stuck };
}

/** What may come next: everything that began before the first of the rest had ended. */
function candidates(sorted: readonly Operation[], { first, also }: Place): number[] {
  const found: number[] = [];
  let deadline = Number.POSITIVE_INFINITY;
  for (let index = first; index < sorted.length && sorted[index]!.invokedAt < deadline; index++) {
    if (also.includes(index)) continue;
    found.push(index);
    deadline = Math.min(deadline, sorted[index]!.returnedAt);
  }
  return found.filter((index) => sorted[index]!.invokedAt < deadline);
}

function go(sorted: readonly Operation[], place: Place, index: number): Place | undefined {
  const done = step(sorted[index]!, place.value);
  if (!done) return undefined;
  // One without an answer that does nothing here can as well do nothing at the end.
  if (sorted[index]!.answer === 'unknown' && done.after === place.value) return undefined;
  const also = [...place.also, index].sort((a, b) => a - b);
  let { first } = place;
  while (also[0] === first) {
    also.shift();
    first++;
  }
  return { first, also, value: done.after, last: sorted[index], before: place };
}

function answeredBefore(sorted: readonly Operation[], { first, also }: Place): number {
  let count = 0;
  for (let index = 0; index < first; index++) if (sorted[index]!.answer !== 'unknown') count++;
  return count + also.filter((index) => sorted[index]!.answer !== 'unknown').length;
}

function orderOf(place: Place): Operation[] {
  const order: Operation[] = [];
  for (let at: Place | undefined = place; at?.last; at = at.before) order.unshift(at.last);
  return order;
}

import type { Kind } from '../../../api/kinds/kind.ts';
import type { Entry } from '../../watch/entry.ts';

/** Objects of one call, and their bytes as they are stored: so a call is short, and its answer is read in a moment. */
const BATCH_OBJECTS = 100;
const BATCH_BYTES = 256 * 1024;
/** What is kept of the versions of a kind: watchers and readers share what was converted for one of them. */
const KEPT_BYTES = 8 * 1024 * 1024;
/** What an entry takes besides its object's bytes. */
const ENTRY_BYTES = 300;

type ConvertBatch = (entries: readonly Entry[], kind: Kind) => Promise<readonly Buffer[]>;

interface Kept {
  readonly apiVersion: string;
  readonly entry: Entry;
}

/** Entries in other versions than they are stored in, each converted once for all that want it at the same time. */
export class ConvertedEntries {
  readonly #convert: ConvertBatch;
  /** By the stored entry, those used last behind the others. */
  readonly #kept = new Map<Entry, Kept[]>();
  readonly #underWay = new Map<Entry, Map<string, Promise<Entry>>>();
  #bytes = 0;

  constructor(convert: ConvertBatch) {
    this.#convert = convert;
  }

  known(entry: Entry, { apiVersion }: Kind): Entry | undefined {
    const kept = this.#kept.get(entry);
    const found = kept?.find((each) => each.apiVersion === apiVersion)?.entry;
    if (!kept || !found) return undefined;
    this.#kept.delete(entry);
    this.#kept.set(entry, kept);
    return found;
  }

  /** One call behind the other, in order. Throws what the webhook's failure is. */
  async of(entries: readonly Entry[], kind: Kind): Promise<readonly Entry[]> {
    const out: Entry[] = [];
    for (const batch of batchesOf(entries)) out.push(...(await this.#ofBatch(batch, kind)));
    return out;
  }

  #ofBatch(batch: readonly Entry[], kind: Kind): Promise<readonly Entry[]> {
    const { apiVersion } = kind;
    const missing = batch.filter((entry) => !this.known(entry, kind) && !this.#underWay.get(entry)?.has(apiVersion));
    if (missing.length > 0) this.#begin(missing, kind);
    return Promise.all(batch.map((entry) => this.known(entry, kind) ?? this.#underWay.get(entry)!.get(apiVersion)!));
  }

  #begin(entries: readonly Entry[], kind: Kind): void {
    const { apiVersion } = kind;
    const done = this.#convert(entries, kind).then((all) =>
      entries.map(({ key, revision }, i): Entry => ({ key, revision, bytes: all[i]! })),
    );
    entries.forEach((entry, i) => {
      const one = done.then((all) => all[i]!);
      // Those who wait hear of a failure.
      one.catch(() => {});
      const byVersion = this.#underWay.get(entry) ?? new Map<string, Promise<Entry>>();
      this.#underWay.set(entry, byVersion.set(apiVersion, one));
    });
    const settle = (converted: readonly Entry[]): void =>
      entries.forEach((entry, i) => {
        const byVersion = this.#underWay.get(entry);
        byVersion?.delete(apiVersion);
        if (byVersion?.size === 0) this.#underWay.delete(entry);
        if (converted[i]) this.#keep(entry, { apiVersion, entry: converted[i] });
      });
    done.then(settle, () => settle([]));
  }

  #keep(entry: Entry, kept: Kept): void {
    this.#kept.set(entry, [...(this.#kept.get(entry) ?? []), kept]);
    this.#bytes += sizeOf(kept);
    for (const [oldest, versions] of this.#kept) {
      if (this.#bytes <= KEPT_BYTES) return;
      this.#kept.delete(oldest);
      for (const each of versions) this.#bytes -= sizeOf(each);
    }
  }
}

const sizeOf = ({ entry }: Kept): number => entry.bytes.length + ENTRY_BYTES;

/** The entries as they are sent in single calls. */
export function* batchesOf(entries: readonly Entry[]): Generator<readonly Entry[]> {
  let batch: Entry[] = [];
  let bytes = 0;
  for (const entry of entries) {
    if (batch.length >= BATCH_OBJECTS || (batch.length > 0 && bytes + entry.bytes.length > BATCH_BYTES)) {
      yield batch;
      [batch, bytes] = [[], 0];
    }
    batch.push(entry);
    bytes += entry.bytes.length;
  }
  if (batch.length > 0) yield batch;
}

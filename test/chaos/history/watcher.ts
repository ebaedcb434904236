import type { ConfigMap } from '../../../api/generated/types.ts';
import type { WatchEvent } from '../../../client/index.ts';
import type { Stretch } from './check-watch.ts';
import type { Change } from './write-record.ts';

/** The one namespace that all this happens in. */
export const namespace = 'default';

/** How long a watcher waits before it tries again. */
export const retryMs = 50;

export const revisionOf = (object: ConfigMap | undefined): number => Number(object?.metadata?.resourceVersion ?? 0);

/** A watcher that survives everything that happens to the server, and goes on from the last version that it saw. */
export interface Watcher {
  readonly name: string;
  readonly sight: Sight;
  run(signal: AbortSignal): Promise<void>;
}

/** A refusal of a version as expired: the version, and the newest one that the server had then. */
export interface Expiry {
  readonly from: number;
  readonly newest: number;
}

/** What a watcher saw: a new stretch begins where it had to list, as nothing is promised of what lies between. */
export class Sight {
  readonly stretches: { from: number; to: number; seen: Change[] }[] = [];
  readonly expired: Expiry[] = [];
  /** How often a watch was opened behind another one. */
  resumes = 0;
  #waiting: { readonly revision: number; readonly resolve: () => void }[] = [];

  /** Everything up to here is known. */
  get to(): number {
    return this.stretches.at(-1)?.to ?? 0;
  }

  get count(): number {
    return this.stretches.reduce((sum, { seen }: Stretch) => sum + seen.length, 0);
  }

  begin(from: number): void {
    this.stretches.push({ from, to: from, seen: [] });
    this.#tell();
  }

  take(events: readonly WatchEvent<ConfigMap>[]): void {
    const stretch = this.stretches.at(-1)!;
    for (const { type, object } of events) {
      stretch.to = revisionOf(object) || stretch.to;
      if (type === 'BOOKMARK') continue;
      stretch.seen.push({ type, name: object.metadata?.name ?? '', revision: revisionOf(object), step: object.data?.step ?? '' });
    }
    this.#tell();
  }

  /** Resolves once everything up to this version is known. */
  reached(revision: number): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push({ revision, resolve });
      this.#tell();
    });
  }

  #tell(): void {
    const { to } = this;
    for (const { revision, resolve } of this.#waiting) if (revision <= to) resolve();
    this.#waiting = this.#waiting.filter(({ revision }) => revision > to);
  }
}

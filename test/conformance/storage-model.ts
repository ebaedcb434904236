import type { Durability } from '../../apiserver/storage/storage.ts';
import type { StorageError } from '../../apiserver/storage/storage-error.ts';

export interface ModelEvent {
  readonly type: 'put' | 'delete';
  readonly key: string;
  readonly revision: number;
  readonly text: string;
  readonly durability: Durability;
}

export interface ModelWrite {
  readonly verb: 'create' | 'update' | 'delete';
  readonly key: string;
  readonly expected: number;
  readonly text: string;
  readonly durability: Durability;
}

/** The contract of Storage in its simplest form: every event there ever was, and nothing else. */
export class StorageModel {
  readonly #events: ModelEvent[] = [];
  revision = 0;
  compacted = 0;

  /** The revision, or the code of the refusal. */
  write({ verb, key, expected, text, durability }: ModelWrite): number | StorageError['code'] {
    const current = this.current(key);
    if (verb === 'create') {
      if (current) return 'exists';
    } else {
      if (!current) return 'not-found';
      if (current.revision !== expected) return 'mismatch';
    }
    this.#events.push({ type: verb === 'delete' ? 'delete' : 'put', key, revision: ++this.revision, text, durability });
    return this.revision;
  }

  current(key: string): ModelEvent | undefined {
    return this.#at(key, this.revision);
  }

  compact(revision: number): void {
    this.compacted = Math.max(this.compacted, Math.min(revision, this.revision));
  }

  list(prefix: string, revision: number): string[] {
    const keys = [...new Set(this.#events.map((event) => event.key))].filter((key) => key.startsWith(prefix)).sort();
    return keys.flatMap((key) => {
      const newest = this.#events.findLast((event) => event.key === key)!;
      const event = this.#at(key, newest.durability === 'relaxed' ? this.revision : revision);
      return event ? [`${key}=${event.text}@${event.revision}`] : [];
    });
  }

  /** What a watch that begins now replays: all synced events above `from`, and the newest state of relaxed keys. */
  replay(prefix: string, from: number): string[] {
    const shown = (event: ModelEvent): boolean => event.durability === 'synced' || this.current(event.key) === event;
    return this.#events.filter((event) => event.revision > from && event.key.startsWith(prefix) && shown(event)).map(textOf);
  }

  /** What a watch that began at `from` has seen since. */
  since(prefix: string, from: number): string[] {
    return this.#events.filter((event) => event.revision > from && event.key.startsWith(prefix)).map(textOf);
  }

  #at(key: string, revision: number): ModelEvent | undefined {
    const event = this.#events.findLast((candidate) => candidate.key === key && candidate.revision <= revision);
    return event?.type === 'put' ? event : undefined;
  }
}

const textOf = (event: ModelEvent): string => `${event.type} ${event.key}=${event.text}@${event.revision}`;

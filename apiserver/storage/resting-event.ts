import type { StorageEvent, WriteMemo } from './storage.ts';

type Written = Pick<StorageEvent, 'key' | 'revision' | 'bytes' | 'memo'>;

/**
 * A relaxed state that may stay for an hour, as Events do. At rest its bytes are text of one byte a character, which V8
 * keeps in 16 bytes more; a Buffer takes 300 more, or, as a view of a record, keeps the 8 KiB alive that Node.js cut it
 * from. The watch cache holds the same event, so that the text is there once.
 */
export class RestingEvent implements StorageEvent {
  readonly type = 'put';
  readonly durability = 'relaxed';
  readonly key: string;
  readonly revision: number;
  memo: WriteMemo | undefined;
  #kept: Uint8Array | string;

  constructor({ key, revision, bytes, memo }: Written) {
    this.key = key;
    this.revision = revision;
    this.memo = memo;
    this.#kept = bytes;
  }

  /** At rest a copy of its own for each call. */
  get bytes(): Uint8Array {
    return typeof this.#kept === 'string' ? Buffer.from(this.#kept, 'latin1') : this.#kept;
  }

  /** Keeps it in little memory from now on, without what was remembered of its write. */
  rest(): this {
    const kept = this.#kept;
    if (typeof kept !== 'string') this.#kept = Buffer.from(kept.buffer, kept.byteOffset, kept.length).toString('latin1');
    this.memo = undefined;
    return this;
  }
}

import type { ListOptions, Write } from './storage.ts';
import { StorageError } from './storage-error.ts';

/**
 * The same on every backend, so that an object that fits one fits all; 1.5 MiB is etcd's own limit, and so Kubernetes'.
 */
export const maxObjectBytes = 1.5 * 1024 * 1024;
/** lmdb takes 1,978 bytes; plural, group, namespace and name need at most 63 + 253 + 63 + 253 and three separators. */
const maxKeyBytes = 1000;
/** An hour at 100 writes a second. */
export const defaultMaxHistoryBytes = 512 * 1024 ** 2;
const validKey = /^[!-~]+$/;

/** Refuses what no backend stores. Keys are printable ASCII, so that their order as text is their order as bytes. */
export function checkWrite(key: string, write: Write): void {
  checkKey(key);
  const size = write.bytes.length - (write.overheadBytes ?? 0);
  if (size > maxObjectBytes)
    throw new StorageError('too-large', `write ${key}: the object has ${size} bytes, at most ${maxObjectBytes} are stored`);
}

export function checkKey(key: string): void {
  if (key.length > maxKeyBytes)
    throw new StorageError('too-large', `use key ${key.slice(0, 80)}...: it is longer than ${maxKeyBytes} bytes`);
  if (!validKey.test(key))
    throw new StorageError('failed', `use key ${JSON.stringify(key)}: only printable ASCII without spaces is stored`);
}

/** Whether a stored key can begin so. */
export function isPossiblePrefix(prefix: string): boolean {
  return prefix.length <= maxKeyBytes && (prefix === '' || validKey.test(prefix));
}

/** The last character that a key may contain is '~'; behind this text no key with the prefix can stand. */
export function prefixEnd(prefix: string): string {
  return `${prefix}\x7f`;
}

/** The first text at which a list may begin; a space sorts before every character that a key may contain. */
export function listStart(prefix: string, options: ListOptions): string {
  const start = prefix === '' ? '!' : prefix;
  return options.after !== undefined && options.after >= start ? `${options.after} ` : start;
}

/**
 * Refuses a revision whose state or successors are no longer kept, or that the store never reached (a restored backup):
 * list again.
 */
export function checkRevision(what: string, revision: number, compacted: number, newest: number): void {
  const refusal = revisionRefusal(what, revision, compacted, newest);
  if (refusal) throw refusal;
}

export function revisionRefusal(what: string, revision: number, compacted: number, newest: number): StorageError | undefined {
  if (revision >= compacted && revision <= newest) return undefined;
  const why = revision < compacted ? `only ${compacted} and newer are kept` : `this store has only reached ${newest}`;
  return new StorageError('compacted', `${what} revision ${revision}: ${why}; list again`, { revision: compacted });
}

/** For a page of a key's history whose place has been compacted away meanwhile. */
export function forgotten(key: string, before: number, compacted: number): StorageError {
  return new StorageError('compacted', `read the history of ${key} before ${before}: only ${compacted} and newer are kept`, {
    revision: compacted,
  });
}

export function alreadyExists(key: string, revision: number): StorageError {
  return new StorageError('exists', `create ${key}: it exists already`, { revision });
}

/** `revision`: of the deletion, as far as it is known. */
export function notFound(verb: string, key: string, revision?: number): StorageError {
  return new StorageError('not-found', `${verb} ${key}: it does not exist`, revision === undefined ? {} : { revision });
}

export function mismatch(verb: string, key: string, expected: number, actual: number): StorageError {
  return new StorageError('mismatch', `${verb} ${key}: its revision is ${actual}, not ${expected}; read it again`, {
    revision: actual,
  });
}

export function wrongDurability(key: string): StorageError {
  return new StorageError(
    'failed',
    `write ${key}: it was last written with another durability; all writes of a kind have the same`,
  );
}

export function closed(): StorageError {
  return new StorageError('closed', 'use the store: it is closed');
}

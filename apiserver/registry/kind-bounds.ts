import { countElements, countJsonElements } from '../../api/codec/elements.ts';
import { type ErrorSubject, exhausted, invalid } from '../../api/errors/index.ts';
import { invalidSize, tooLong } from '../../api/errors/violations.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import type { KindCache } from '../watch/kind-cache.ts';

/**
 * How many messages, map entries and list items an object may have together. Each takes some 100 bytes of memory in
 * each process that reads the object, of however few bytes it is stored, and some microseconds of a write. An
 * EndpointSlice of 1,000 endpoints has 6,000.
 */
export const maxElements = 10_000;
/** An element has at least so many bytes: its field's tag, and its length. */
const LEAST_BYTES = 2;

/**
 * Throws INVALID_ARGUMENT for an object that is larger, encoded, than its kind allows, or has more elements than an
 * object may have. One that has more already, of an earlier version of the server, may still lose some.
 */
export function checkObjectBounds(kind: Kind, bytes: Uint8Array, subject: ErrorSubject, replaces?: Uint8Array): void {
  checkObjectSize(kind, bytes, subject);
  checkElements(kind, bytes, subject, replaces && mostElements(kind, replaces));
}

/** Throws INVALID_ARGUMENT for an object that is larger, encoded, than its kind allows. */
export function checkObjectSize({ maxBytes }: Kind, bytes: Uint8Array, subject: ErrorSubject): void {
  if (maxBytes !== undefined && bytes.length > maxBytes) throw invalid(subject, [tooLong('', maxBytes, 'bytes')]);
}

/** How many elements an object may have that replaces this one. */
export function mostElements({ message }: Kind, replaces: Uint8Array): number {
  return isSmall(replaces) ? maxElements : Math.max(maxElements, countElements(message, replaces));
}

/** Throws INVALID_ARGUMENT for an encoded object of more elements than allowed, WireError for damaged bytes. */
export function checkElements({ message }: Kind, bytes: Uint8Array, subject: ErrorSubject, most = maxElements): void {
  if (!isSmall(bytes)) refuseMore(countElements(message, bytes), most, subject);
}

/** The same for an object in JSON form. */
export function checkJsonElements({ message }: Kind, json: unknown, subject: ErrorSubject, most = maxElements): void {
  refuseMore(countJsonElements(message, json), most, subject);
}

const isSmall = (bytes: Uint8Array): boolean => bytes.length < maxElements * LEAST_BYTES;

function refuseMore(count: number, most: number, subject: ErrorSubject): void {
  if (count <= most) return;
  throw invalid(subject, [invalidSize('', most, `messages, map entries and list items together, and has ${count}`)]);
}

/** Throws RESOURCE_EXHAUSTED where there are as many objects of a kind as it allows, or as many bytes of them. */
export function checkObjectCount({ kind, maxObjects, maxTotalBytes }: Kind, cache: KindCache): void {
  if (maxObjects !== undefined && cache.size >= maxObjects)
    throw exhausted(`there are ${maxObjects} objects of kind ${kind}, as many as allowed: delete what is no longer needed`);
  if (maxTotalBytes !== undefined && cache.bytes >= maxTotalBytes)
    throw exhausted(`the objects of kind ${kind} have ${cache.bytes} bytes, more than allowed: delete what is no longer needed`);
}

import { type ErrorSubject, exhausted, invalid } from '../../api/errors/index.ts';
import { tooLong } from '../../api/errors/violations.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import type { KindCache } from '../watch/kind-cache.ts';

/** Throws INVALID_ARGUMENT for an object that is larger, encoded, than its kind allows. */
export function checkObjectSize({ maxBytes }: Kind, bytes: Uint8Array, subject: ErrorSubject): void {
  if (maxBytes !== undefined && bytes.length > maxBytes) throw invalid(subject, [tooLong('', maxBytes, 'bytes')]);
}

/** Throws RESOURCE_EXHAUSTED where there are as many objects of a kind as it allows, or as many bytes of them. */
export function checkObjectCount({ kind, maxObjects, maxTotalBytes }: Kind, cache: KindCache): void {
  if (maxObjects !== undefined && cache.size >= maxObjects)
    throw exhausted(`there are ${maxObjects} objects of kind ${kind}, as many as allowed: delete what is no longer needed`);
  if (maxTotalBytes !== undefined && cache.bytes >= maxTotalBytes)
    throw exhausted(`the objects of kind ${kind} have ${cache.bytes} bytes, more than allowed: delete what is no longer needed`);
}

import type { KindReference } from '../../generated/types.ts';
import type { Kind } from '../kind.ts';
import { isCustom } from './custom-kind.ts';

/**
 * What clients call a kind in the generic service: with the version, "GROUP/VERSION/KIND", where the name alone would
 * not do, as of kinds that users added and of older versions.
 */
export function kindWord(kind: Kind): string {
  return isCustom(kind) || kind.conversion ? `${kind.apiVersion}/${kind.kind}` : kind.kind;
}

/** The reference that such a word is in a request. */
export function referenceOf(word: string): KindReference {
  const slash = word.lastIndexOf('/');
  return slash < 0 ? { kind: word } : { apiVersion: word.slice(0, slash), kind: word.slice(slash + 1) };
}

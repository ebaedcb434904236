import { createHash } from 'node:crypto';
import { isJsonObject, type Json, type JsonObject } from '../../api/meta/merge-patch.ts';

/** Hex digits that could spell words are written otherwise. */
const letters: Readonly<Record<string, string>> = { 0: 'g', 1: 'h', 3: 'k', a: 'm', e: 't' };

/**
 * The suffix of a generated object's name: of ten characters, as kustomize and kubectl compute it from kind, name and
 * data (and the type of a Secret).
 */
export function contentHash(json: JsonObject): string {
  const { kind, metadata, data = '', type = '', stringData, binaryData } = json;
  const name = (isJsonObject(metadata) ? metadata.name : undefined) ?? '';
  const of: JsonObject =
    kind === 'Secret'
      ? { kind, type, name, data, ...(isJsonObject(stringData) && { stringData }) }
      : { kind: kind!, name, data, ...(isJsonObject(binaryData) && { binaryData }) };
  const hex = createHash('sha256').update(encode(of)).digest('hex');
  return hex.slice(0, 10).replace(/[013ae]/g, (digit) => letters[digit]!);
}

/** JSON as Go's encoding/json writes it: keys in order, and characters that HTML knows escaped. */
function encode(value: JsonObject): string {
  return textOf(value).replace(/[<>&\u2028\u2029]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Not by an object with its keys in order: JavaScript puts keys such as "9" and "10" first, as numbers. */
function textOf(value: Json): string {
  if (!isJsonObject(value)) return JSON.stringify(value);
  const members = Object.keys(value).sort();
  return `{${members.map((key) => `${JSON.stringify(key)}:${textOf(value[key]!)}`).join(',')}}`;
}

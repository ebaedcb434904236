import { createHash } from 'node:crypto';
import { isJsonObject, type Json, type JsonObject } from '../../api/meta/merge-patch.ts';

/** Hex digits that could spell words are written otherwise. */
const letters: Readonly<Record<string, string>> = { 0: 'g', 1: 'h', 3: 'k', a: 'm', e: 't' };

/**
 * The suffix of a generated object's name: of ten characters, as kubectl computes it from kind and data (and the type
 * of a Secret). kubectl means to count the name as well, but reads it from where there is none.
 */
export function contentHash(json: JsonObject): string {
  const { kind, data = '', type = '', stringData, binaryData } = json;
  const name = '';
  const of: JsonObject =
    kind === 'Secret'
      ? { kind, type, name, data: inLines(data), ...(isJsonObject(stringData) && { stringData }) }
      : { kind: kind!, name, data, ...(isJsonObject(binaryData) && { binaryData: inLines(binaryData) }) };
  const hex = createHash('sha256').update(encode(of)).digest('hex');
  return hex.slice(0, 10).replace(/[013ae]/g, (digit) => letters[digit]!);
}

/** kustomize breaks base64 into lines of 70 characters, each of which ends with a line feed; a short text has none. */
function inLines(data: Json): Json {
  if (!isJsonObject(data)) return data;
  const broken = (text: Json): Json => (typeof text === 'string' && text.length >= 70 ? text.replace(/.{1,70}/g, '$&\n') : text);
  return Object.fromEntries(Object.entries(data).map(([key, text]) => [key, broken(text)]));
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

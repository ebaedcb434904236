import { isTextTooDeep, isTooDeep, tooDeepText } from '../meta/json-depth.ts';
import { isJsonObject, type JsonObject } from '../meta/merge-patch.ts';
import { field, LENGTH_DELIMITED } from './wire-format.ts';
import { WireReader } from './wire-reader.ts';

/**
 * The message of all kinds that users add. In memory such an object is its metadata as a message, and beside it its
 * other members as plain JSON; encoded these are one JSON document.
 */
export const openMessage = 'berth.apiextensions.v1.CustomObject';

/** As the descriptors have it. */
interface Closed {
  readonly metadata?: object;
  readonly content?: Uint8Array;
}

/** The field that says which version the stored object is in. The in-memory form and JSON are without it. */
export const storedVersionField = 'storedVersion';
const STORED_VERSION = 3;

/** The version that the encoded object says that it is in; empty where it says none. */
export function storedVersionOf(bytes: Uint8Array): string {
  const reader = new WireReader(bytes);
  while (reader.next())
    if (reader.number === STORED_VERSION && reader.wire === LENGTH_DELIMITED) return Buffer.from(reader.value()).toString();
  return '';
}

/** The encoded object, which says none, with the version that it is in. */
export function withStoredVersion(bytes: Uint8Array, version: string): Buffer {
  return Buffer.concat([bytes, field(STORED_VERSION, Buffer.from(version))]);
}

/** Members that the content cannot have: they stand beside it. */
const reserved: readonly string[] = ['apiVersion', 'kind', 'metadata'];

/** Whether a message is that of kinds that users add. */
export function isOpen(messageName: string): boolean {
  return messageName === openMessage;
}

/**
 * The in-memory form of the message. Throws an Error for a content that is no JSON object, or has reserved members.
 */
export function openMembers({ metadata, content }: Closed): object {
  const members = content === undefined || content.length === 0 ? {} : parse(content);
  return metadata === undefined ? members : { metadata, ...members };
}

/** The message of the in-memory form. */
export function closeMembers(object: object): Closed {
  const { metadata, ...members } = object as { metadata?: object };
  const content = Object.keys(members).length > 0 && { content: Buffer.from(JSON.stringify(members)) };
  return { ...(metadata !== undefined && { metadata }), ...content };
}

function parse(content: Uint8Array): JsonObject {
  if (isTextTooDeep(content)) throw new Error(`the content of the object ${tooDeepText}`);
  const members: unknown = JSON.parse(Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString('utf8'));
  if (!isJsonObject(members)) throw new Error('the content of the object is no JSON object');
  if (isTooDeep(members)) throw new Error(`the content of the object ${tooDeepText}`);
  const wrong = reserved.find((name) => Object.hasOwn(members, name));
  if (wrong !== undefined) throw new Error(`the content of the object has the member ${wrong}, which stands beside it`);
  return members;
}

const [quote, backslash, comma, openBracket, openBrace] = [0x22, 0x5c, 0x2c, 0x5b, 0x7b];

/** About how many values a JSON document has, counted in its bytes: see countElements. */
export function countJsonValues(document: Uint8Array): number {
  let count = 0;
  let inText = false;
  for (let i = 0; i < document.length; i++) {
    const byte = document[i];
    if (inText) {
      if (byte === backslash) i++;
      else if (byte === quote) inText = false;
    } else if (byte === quote) inText = true;
    else if (byte === comma || byte === openBracket || byte === openBrace) count++;
  }
  return count;
}

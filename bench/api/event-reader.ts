/** How many events a watch response holds; looks at nothing else. */
export function countEvents(response: Buffer): number {
  let count = 0;
  for (let at = 0; at < response.length; count++) at = skipField(response, at);
  return count;
}

/** Calls `take` with the encoded metadata of each event's object, and whether it is a bookmark. */
export function eachEvent(response: Buffer, take: (metadata: Buffer, isBookmark: boolean) => void): void {
  for (let at = 0; at < response.length; ) {
    const end = skipField(response, at);
    // An event: the type (field 1), then the object (field 2), whose first field is the metadata.
    const type = contentOf(response, at);
    const object = skipField(response, type);
    const isBookmark = response[contentOf(response, type)] === BOOKMARK[0];
    take(fieldAt(response, contentOf(response, object)), isBookmark);
    at = end;
  }
}

const BOOKMARK = Buffer.from('BOOKMARK');

/** The text of a field of encoded metadata by its number; empty when it is not there. */
export function textOf(metadata: Buffer, number: number): string {
  for (let at = 0; at < metadata.length; at = skipField(metadata, at)) {
    if (metadata[at] === number * 8 + 2) return fieldAt(metadata, at).toString('latin1');
  }
  return '';
}

/** The fields of a message that has only length-delimited ones. */
export function* fieldsOf(message: Buffer): Generator<{ readonly number: number; readonly content: Buffer }> {
  for (let at = 0; at < message.length; at = skipField(message, at))
    yield { number: message[at]! >> 3, content: fieldAt(message, at) };
}

export const NAME = 1;
export const RESOURCE_VERSION = 6;

let lengthAt = 0;

/** The length behind a tag of one byte; `lengthAt` is then where the content begins. */
function readLength(bytes: Buffer, at: number): number {
  let value = 0;
  let shift = 0;
  let next = at + 1;
  for (; bytes[next]! >= 128; next++, shift += 7) value |= (bytes[next]! & 127) << shift;
  lengthAt = next + 1;
  return value | (bytes[next]! << shift);
}

/** Every field here is length-delimited; those that are not come behind what is looked for. */
function skipField(bytes: Buffer, at: number): number {
  const length = readLength(bytes, at);
  return lengthAt + length;
}

function contentOf(bytes: Buffer, at: number): number {
  readLength(bytes, at);
  return lengthAt;
}

function fieldAt(bytes: Buffer, at: number): Buffer {
  const length = readLength(bytes, at);
  return bytes.subarray(lengthAt, lengthAt + length);
}

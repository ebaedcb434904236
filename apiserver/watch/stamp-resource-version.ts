import { fieldSize, LENGTH_DELIMITED, writeFieldHeader } from '../../api/codec/wire-format.ts';
import { WireReader } from '../../api/codec/wire-reader.ts';

const METADATA = 1;
const RESOURCE_VERSION = 6;

interface Span {
  start: number;
  end: number;
}

/** The metadata's content. Stored bytes come from the encoder and have it once. */
function findMetadata(bytes: Uint8Array): (Span & { tagStart: number }) | undefined {
  const reader = new WireReader(bytes);
  let found: (Span & { tagStart: number }) | undefined;
  while (reader.next()) {
    if (reader.number === METADATA && reader.wire === LENGTH_DELIMITED) {
      found = { tagStart: reader.tagStart, start: reader.valueStart, end: reader.valueEnd };
    }
  }
  return found;
}

/** What to keep of the metadata: everything but its resourceVersion, and where the new one belongs by its number. */
function planSplice(bytes: Uint8Array, metadata: Span): { kept: Span[]; insertBefore: number; length: number } {
  const reader = new WireReader(bytes, metadata.start, metadata.end);
  const kept: Span[] = [];
  let insertBefore = -1;
  let length = 0;
  while (reader.next()) {
    if (reader.number === RESOURCE_VERSION) continue;
    if (reader.number > RESOURCE_VERSION && insertBefore < 0) insertBefore = kept.length;
    const last = kept.at(-1);
    length += reader.valueEnd - reader.tagStart;
    if (last && last.end === reader.tagStart && insertBefore !== kept.length) last.end = reader.valueEnd;
    else kept.push({ start: reader.tagStart, end: reader.valueEnd });
  }
  return { kept, insertBefore: insertBefore < 0 ? kept.length : insertBefore, length };
}

/**
 * An encoded object with `metadata.resourceVersion` set, without decoding it; byte for byte what decoding, setting and
 * encoding in the order of the numbers would give. The result is a buffer of its own, not a part of a shared one,
 * because it is kept for long. Throws WireError for bytes that are no message.
 */
export function stampResourceVersion(bytes: Uint8Array, resourceVersion: string): Buffer {
  const metadata = findMetadata(bytes) ?? { tagStart: 0, start: 0, end: 0 };
  const { kept, insertBefore, length } = planSplice(bytes, metadata);
  const content = length + fieldSize(resourceVersion.length);
  const before = metadata.tagStart;
  const out = Buffer.allocUnsafeSlow(before + fieldSize(content) + bytes.length - metadata.end);
  out.set(bytes.subarray(0, before));
  let at = writeFieldHeader(out, before, METADATA, content);
  const copy = (span: Span): void => {
    out.set(bytes.subarray(span.start, span.end), at);
    at += span.end - span.start;
  };
  for (let i = 0; i < insertBefore; i++) copy(kept[i]!);
  at = writeFieldHeader(out, at, RESOURCE_VERSION, resourceVersion.length);
  at += out.write(resourceVersion, at, 'latin1');
  for (let i = insertBefore; i < kept.length; i++) copy(kept[i]!);
  out.set(bytes.subarray(metadata.end), at);
  return out;
}

/** The encoded ObjectMeta of an encoded object; empty when it has none. */
export function metadataBytes(bytes: Uint8Array): Uint8Array {
  const metadata = findMetadata(bytes);
  return metadata ? bytes.subarray(metadata.start, metadata.end) : bytes.subarray(0, 0);
}

/** The resourceVersion of an encoded object; empty when it has none. */
export function resourceVersionOf(bytes: Uint8Array): string {
  const metadata = findMetadata(bytes);
  if (!metadata) return '';
  const reader = new WireReader(bytes, metadata.start, metadata.end);
  while (reader.next()) if (reader.number === RESOURCE_VERSION) return Buffer.from(reader.value()).toString('latin1');
  return '';
}

/** An encoded object without its resourceVersion, without decoding it: stored bytes carry none. */
export function withoutResourceVersion(bytes: Uint8Array): Uint8Array {
  const metadata = findMetadata(bytes);
  if (!metadata || resourceVersionOf(bytes) === '') return bytes;
  const { kept, length } = planSplice(bytes, metadata);
  const before = metadata.tagStart;
  const out = Buffer.allocUnsafe(before + fieldSize(length) + bytes.length - metadata.end);
  out.set(bytes.subarray(0, before));
  let at = writeFieldHeader(out, before, METADATA, length);
  for (const { start, end } of kept) {
    out.set(bytes.subarray(start, end), at);
    at += end - start;
  }
  out.set(bytes.subarray(metadata.end), at);
  return out;
}

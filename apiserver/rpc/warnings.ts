import { toUSVString } from 'node:util';
import { Metadata } from '@grpc/grpc-js';

/** Header blocks are bounded by clients; a warning is one sentence. */
export const MAX_WARNINGS_BYTES = 4_096;

/**
 * gRPC metadata is printable ASCII and may be joined with commas on the way: those, "%" and everything else are
 * percent-encoded.
 */
export function encodeWarning(text: string): string {
  return toUSVString(text).replace(/[^\x20-\x24\x26-\x2b\x2d-\x7e]/gu, (character: string) =>
    character === ',' ? '%2C' : encodeURIComponent(character),
  );
}

/** The warnings of an answer, as far as they fit. */
export function warningMetadata(warnings: readonly string[]): Metadata {
  const metadata = new Metadata();
  let bytes = 0;
  for (const warning of warnings) {
    const text = encodeWarning(warning);
    bytes += text.length;
    if (bytes > MAX_WARNINGS_BYTES) break;
    metadata.add('berth-warning', text);
  }
  return metadata;
}

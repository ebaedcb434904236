import { encodeMessage } from '../../api/codec/message.ts';
import { annotations } from '../../api/meta/well-known.ts';
import type { Entry } from './entry.ts';

/** How a stream's objects are encoded. */
export interface EventFormat {
  /** Streams with the same id share what was encoded for one of them. */
  readonly id: string;
  readonly field: 2 | 3;
  /**
   * Whether a stream's first event holds more than the same event of another stream would: then that one is not shared.
   */
  readonly hasHeading: boolean;
  /** The object as it stands in an event; `first` marks the first event of a stream. */
  encode(entry: Entry, first: boolean): Uint8Array;
  bookmark(metadata: BookmarkMetadata): Uint8Array;
}

export interface BookmarkMetadata {
  resourceVersion: string;
  annotations?: Record<string, string>;
}

/** What a bookmark carries; the one that ends the initial events says so. */
export function bookmarkMetadata(revision: number, endsInitialEvents: boolean): BookmarkMetadata {
  const resourceVersion = String(revision);
  return endsInitialEvents ? { resourceVersion, annotations: { [annotations.initialEventsEnd]: 'true' } } : { resourceVersion };
}

/** Stored bytes as they are. */
export function protobufEvents(message: string): EventFormat {
  return {
    id: 'protobuf',
    field: 2,
    hasHeading: false,
    encode: (entry) => entry.bytes,
    bookmark: (metadata) => encodeMessage(message, { metadata }),
  };
}

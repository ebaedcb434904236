import { field, LENGTH_DELIMITED, VARINT, varintSize, writeVarint } from '../../api/codec/wire-format.ts';
import { WireReader } from '../../api/codec/wire-reader.ts';
import { badRequest } from '../../api/errors/index.ts';
import { MAX_WARNINGS_BYTES } from './warnings.ts';

// The messages of streams of items, which are alike for all of them: {repeated items = 1}, an item {id = 1, one request
// of any other number}, {repeated results = 1}, a result {id = 1, outcome = 2, error = 3, repeated warnings = 4}.

const ITEMS = 1;
const ID = 1;
const OUTCOME = 2;
const ERROR = 3;
const WARNINGS = 4;

/** One item with its request still encoded. */
export interface Item {
  readonly id: number;
  /** The number of the request's field; 0 when there is none. */
  readonly field: number;
  readonly request: Uint8Array;
  /** Bytes on the wire. */
  readonly size: number;
}

/** What became of an item. `error` is a google.rpc.Status. */
export type Outcome =
  | { readonly bytes: Uint8Array; readonly warnings?: readonly string[] | undefined }
  | { readonly error: Uint8Array; readonly code: number };

const nothing: Uint8Array = new Uint8Array(0);

/** The items of one message. Throws INVALID_ARGUMENT when it is none, or has more items than `most`. */
export function readItems(message: Uint8Array, most: number): Item[] {
  const items: Item[] = [];
  try {
    const reader = new WireReader(message);
    while (reader.next()) {
      if (reader.number !== ITEMS || reader.wire !== LENGTH_DELIMITED)
        throw badRequest(`cannot decode the message: it has no field ${reader.number}`);
      if (items.length === most) throw badRequest(`a message has at most ${most} items: send more messages over the same stream`);
      items.push(readItem(reader));
    }
  } catch (error) {
    if (error instanceof Error && error.name === 'WireError') throw badRequest(`cannot decode the message: ${error.message}`);
    throw error;
  }
  return items;
}

function readItem(items: WireReader): Item {
  const reader = items.inner();
  let [id, field] = [0, 0];
  let request = nothing;
  while (reader.next()) {
    if (reader.number === ID && reader.wire === VARINT) id = reader.number32();
    else if (reader.wire === LENGTH_DELIMITED) {
      field = reader.number;
      request = reader.value();
    } else throw badRequest(`cannot decode the message: an item has no field ${reader.number}`);
  }
  return { id, field, request, size: items.valueEnd - items.valueStart };
}

/** One result as a field of its message; results put one behind the other are a message. */
export function encodeResult(id: number, outcome: Outcome): Buffer {
  const parts: Uint8Array[] = [];
  if (id > 0) {
    const idField = Buffer.allocUnsafe(1 + varintSize(id));
    idField[0] = ID * 8 + VARINT;
    writeVarint(idField, 1, id);
    parts.push(idField);
  }
  if ('error' in outcome) parts.push(field(ERROR, outcome.error));
  else {
    parts.push(field(OUTCOME, outcome.bytes));
    parts.push(...encodeWarnings(outcome.warnings ?? []));
  }
  return field(ITEMS, parts.length === 1 ? parts[0]! : Buffer.concat(parts));
}

/** As many as fit beside the answer of a single call. */
function encodeWarnings(warnings: readonly string[]): Buffer[] {
  let bytes = 0;
  const encoded = warnings.map((warning) => field(WARNINGS, Buffer.from(warning)));
  return encoded.filter((warning) => {
    bytes += warning.length;
    return bytes <= MAX_WARNINGS_BYTES;
  });
}

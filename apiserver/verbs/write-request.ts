import { LENGTH_DELIMITED } from '../../api/codec/wire-format.ts';
import { WireReader } from '../../api/codec/wire-reader.ts';
import { badRequest } from '../../api/errors/index.ts';
import type { DeleteRequest, PatchRequest, WriteOptions } from '../../api/generated/types.ts';
import { decodeStrictly } from '../registry/decode.ts';
import type { KindStore } from '../registry/kind-store.ts';
import type { ObjectForm } from './object-format.ts';

export type WriteVerb = 'create' | 'update' | 'updateStatus';

/** A write of a whole object, as a service read it. */
export interface WriteRequest {
  readonly verb: WriteVerb;
  readonly store: KindStore;
  /** Still encoded, in this format. */
  readonly object: Uint8Array;
  readonly format: 'protobuf' | 'json';
  readonly options: WriteOptions;
  /** Of an update: a subresource of the object; else empty. */
  readonly subresource: string;
  /** For an object that names no namespace. */
  readonly namespace: string;
  /** What the call names besides the object: one that says otherwise is refused. Empty: nothing. */
  readonly at?: { readonly namespace: string; readonly name: string } | undefined;
  /** Of an update: makes an object that is missing, where its kind allows that (`isCreatedByPut`). */
  readonly isPut?: boolean;
  /** Absent: the answer is what was stored. */
  readonly form?: ObjectForm | undefined;
  /** See `Reading`. */
  readonly namesKind?: boolean;
  readonly interpret?: ((message: string, object: object) => void) | undefined;
}

/** The same for a patch. */
export interface PatchWriteRequest {
  readonly store: KindStore;
  readonly patch: PatchRequest;
  readonly form?: ObjectForm | undefined;
}

/** The same for a deletion. */
export interface DeleteWriteRequest {
  readonly store: KindStore;
  readonly delete: DeleteRequest;
  readonly form?: ObjectForm | undefined;
}

const OBJECT = 1;
const OPTIONS = 2;

/** A typed write's `{object, options}`, which is the same for every kind, with the object still encoded. */
export function readWriteRequest(verb: WriteVerb, store: KindStore, request: Buffer, subresource = ''): WriteRequest {
  const { object, options } = readParts(request);
  const read = decodeStrictly<WriteOptions>('berth.meta.v1.WriteOptions', options, 'options');
  return { verb, store, object, format: 'protobuf', options: read, subresource, namespace: '' };
}

function readParts(request: Buffer): { readonly object: Uint8Array; readonly options: Uint8Array } {
  const object = new Field(OBJECT, request);
  const options = new Field(OPTIONS, request);
  try {
    const reader = new WireReader(request);
    while (reader.next()) {
      const { number, wire } = reader;
      if (number !== OBJECT && number !== OPTIONS) throw badRequest(`cannot decode the request: it has no field ${number}`);
      if (wire !== LENGTH_DELIMITED)
        throw badRequest(`cannot decode the request: the field ${number} has the wrong wire type ${wire}`);
      (number === OBJECT ? object : options).note(reader);
    }
  } catch (error) {
    if (error instanceof Error && error.name === 'WireError') throw badRequest(`cannot decode the request: ${error.message}`);
    throw error;
  }
  return { object: object.value(), options: options.value() };
}

/**
 * A message inside a request. Of one that comes several times the parts count together, as one behind the other: they
 * are copied once, since a request of 4 MiB may have a million of them.
 */
class Field {
  readonly #number: number;
  readonly #request: Buffer;
  #first: Buffer | undefined;
  #length = 0;

  constructor(number: number, request: Buffer) {
    this.#number = number;
    this.#request = request;
  }

  note(reader: WireReader): void {
    this.#first ??= reader.value();
    this.#length += reader.valueEnd - reader.valueStart;
  }

  value(): Uint8Array {
    if (!this.#first || this.#first.length === this.#length) return this.#first ?? this.#request.subarray(0, 0);
    const whole = Buffer.allocUnsafe(this.#length);
    const reader = new WireReader(this.#request);
    for (let at = 0; reader.next(); )
      if (reader.number === this.#number) at += this.#request.copy(whole, at, reader.valueStart, reader.valueEnd);
    return whole;
  }
}

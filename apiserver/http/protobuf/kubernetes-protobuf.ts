import { field, varintSize, writeFieldHeader } from '../../../api/codec/wire-format.ts';
import { WireReader } from '../../../api/codec/wire-reader.ts';
import { badRequest } from '../../../api/errors/index.ts';
import type { Kind } from '../../../api/kinds/kind.ts';
import { fromKubernetes } from './definition-protobuf.ts';

/** What every body of Kubernetes' protobuf begins with; behind it stands a `runtime.Unknown`. */
const magic = Buffer.from('k8s\0');

const TYPE_META = 1;
const RAW = 2;
const API_VERSION = 1;
const KIND = 2;

/** An encoded object of a kind as a body. */
export function envelope({ kind, apiVersion }: Pick<Kind, 'kind' | 'apiVersion'>, bytes: Uint8Array): Buffer {
  const type = Buffer.concat([field(API_VERSION, Buffer.from(apiVersion)), field(KIND, Buffer.from(kind))]);
  return Buffer.concat([magic, field(TYPE_META, type), field(RAW, bytes)]);
}

/** What stands before the bytes of a body whose length is known and which is sent in pieces. */
export function envelopeHead({ kind, apiVersion }: Pick<Kind, 'kind' | 'apiVersion'>, length: number): Buffer {
  const type = Buffer.concat([field(API_VERSION, Buffer.from(apiVersion)), field(KIND, Buffer.from(kind))]);
  const raw = Buffer.alloc(1 + varintSize(length));
  writeFieldHeader(raw, 0, RAW, length);
  return Buffer.concat([magic, field(TYPE_META, type), raw]);
}

export interface Enveloped {
  readonly apiVersion: string;
  readonly kind: string;
  readonly bytes: Uint8Array;
}

/** Reads a body. Throws BAD_REQUEST. */
export function openEnvelope(body: Buffer): Enveloped {
  if (!body.subarray(0, magic.length).equals(magic))
    throw badRequest('the body is not Kubernetes\' protobuf: it does not begin with "k8s" and a zero');
  const found = { apiVersion: '', kind: '', bytes: body.subarray(0, 0) as Uint8Array };
  try {
    const reader = new WireReader(body, magic.length);
    while (reader.next()) {
      if (reader.number === RAW) found.bytes = reader.value();
      else if (reader.number === TYPE_META) readType(reader.inner(), found);
    }
  } catch (error) {
    throw badRequest(`the body is no protobuf message: ${(error as Error).message}`);
  }
  return { ...found, bytes: fromKubernetes(found, found.bytes) };
}

function readType(reader: WireReader, found: { apiVersion: string; kind: string }): void {
  while (reader.next()) {
    const text = Buffer.from(reader.value()).toString('utf8');
    if (reader.number === API_VERSION) found.apiVersion = text;
    else if (reader.number === KIND) found.kind = text;
  }
}

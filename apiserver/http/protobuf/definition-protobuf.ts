import { WireError } from '../../../api/codec/wire-format.ts';
import { WireReader } from '../../../api/codec/wire-reader.ts';
import { badRequest } from '../../../api/errors/index.ts';
import { isKind } from '../../../api/kinds/index.ts';
import type { Kind } from '../../../api/kinds/kind.ts';
import type { Json } from '../../../api/meta/merge-patch.ts';
import { bytesField, decodeSchema, encodeSchema } from './schema-protobuf.ts';

// CustomResourceDefinitions in Kubernetes' protobuf: Berth's bytes but for the schemas, which Berth carries as JSON.

/** The fields that lead to a schema: spec, versions, schema, openAPIV3Schema. */
const PATH = [2, 7, 4, 1];
const RAW = 1;

/** The stored bytes of an object in Kubernetes' form: the same, but of definitions. */
export function toKubernetes(kind: Pick<Kind, 'kind' | 'apiVersion'>, bytes: Uint8Array): Uint8Array {
  if (!isDefinition(kind)) return bytes;
  return rewritten(new WireReader(bytes), PATH, (extension) => {
    const schema = extension.next() && extension.number === RAW ? extension.value().toString() : '{}';
    return encodeSchema(JSON.parse(schema) as Json);
  });
}

/** The other way. Throws BAD_REQUEST. */
export function fromKubernetes(kind: Pick<Kind, 'kind' | 'apiVersion'>, bytes: Uint8Array): Uint8Array {
  if (!isDefinition(kind)) return bytes;
  try {
    return rewritten(new WireReader(bytes), PATH, (schema) => bytesField(RAW, Buffer.from(JSON.stringify(decodeSchema(schema)))));
  } catch (error) {
    if (error instanceof WireError) throw badRequest(`the body is no protobuf message: ${error.message}`);
    throw error;
  }
}

export const isDefinition = (kind: Pick<Kind, 'kind' | 'apiVersion'>): boolean =>
  isKind(kind as Kind, 'CustomResourceDefinition');

/** A message with another value in each field at the path. */
function rewritten(reader: WireReader, [number, ...below]: readonly number[], change: (value: WireReader) => Uint8Array): Buffer {
  const parts: Uint8Array[] = [];
  while (reader.next()) {
    if (reader.number !== number || reader.wire !== 2) parts.push(reader.whole());
    else parts.push(bytesField(number, below.length > 0 ? rewritten(reader.inner(), below, change) : change(reader.inner())));
  }
  return Buffer.concat(parts);
}

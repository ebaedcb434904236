import { field, VARINT, varintSize, writeVarint } from '../../../api/codec/wire-format.ts';
import type { StatusDetails, StatusObject } from '../errors/status-object.ts';
import { envelope } from './kubernetes-protobuf.ts';

const text = (number: number, value: string | undefined): Buffer[] => (value ? [field(number, Buffer.from(value))] : []);

function count(number: number, value: number | undefined): Buffer[] {
  if (!value) return [];
  const out = Buffer.alloc(1 + varintSize(value), number * 8 + VARINT);
  writeVarint(out, 1, value);
  return [out];
}

function detailsBytes({ name, group, kind, uid, causes = [], retryAfterSeconds }: StatusDetails): Buffer {
  return Buffer.concat([
    ...[...text(1, name), ...text(2, group), ...text(3, kind)],
    ...causes.map((cause) =>
      field(4, Buffer.concat([...text(1, cause.reason), ...text(2, cause.message), ...text(3, cause.field)])),
    ),
    ...[...count(5, retryAfterSeconds), ...text(6, uid)],
  ]);
}

/** A Status as Kubernetes' protobuf, in its envelope. */
export function statusProtobuf({ status, message, reason, details, code }: StatusObject): Buffer {
  const bytes = Buffer.concat([
    ...[field(1, Buffer.alloc(0)), ...text(2, status), ...text(3, message), ...text(4, reason)],
    ...(details ? [field(5, detailsBytes(details))] : []),
    ...count(6, code),
  ]);
  return envelope({ kind: 'Status', apiVersion: 'v1' }, bytes);
}

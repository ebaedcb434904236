import protobuf, { type Reader, type Type } from 'protobufjs';
import { descriptors } from '../generated/descriptors.ts';

const root = protobuf.Root.fromJSON(descriptors).resolveAll();
const types = new Map<string, Type>();

const plain = { longs: Number, enums: String, defaults: false, arrays: false, objects: false, oneofs: false } as const;

/** The protobufjs type of a message, e.g. "berth.core.v1.Pod". Throws for a name that the descriptors do not have. */
export function messageType(name: string): Type {
  let type = types.get(name);
  if (!type) {
    type = root.lookupType(name);
    types.set(name, type);
  }
  return type;
}

/**
 * A message as bytes. The value must have the in-memory form that its generated type describes; that is trusted, not checked, because
 * everything enters through a decoder. Empty lists and maps are not written.
 */
export function encodeMessage(messageName: string, value: object): Buffer {
  return messageType(messageName).encode(value).finish() as Buffer;
}

/**
 * Bytes as a plain object in the in-memory form: absent stays absent, 64-bit integers are numbers, bytes are Buffers of their own.
 * Throws protobufjs' errors for bytes that are no such message.
 */
export function decodeMessage<T extends object = Record<string, unknown>>(messageName: string, bytes: Uint8Array | Reader): T {
  const type = messageType(messageName);
  return type.toObject(type.decode(bytes), plain) as T;
}

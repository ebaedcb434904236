import type { Reader, Type } from 'protobufjs';
import { descriptorsOf } from './descriptors.ts';

const types = new Map<string, Type>();

const plain = { longs: Number, enums: String, defaults: false, arrays: false, objects: false, oneofs: false } as const;

/** The protobufjs type of a message, e.g. "berth.core.v1.Pod". Throws for a name that the descriptors do not have. */
export function messageType(name: string): Type {
  let type = types.get(name);
  if (!type) {
    type = descriptorsOf(name).lookupType(name);
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
  const value = type.toObject(type.decode(bytes), plain) as T;
  for (const name of bytesMapsOf(type)) completeBytes((value as Record<string, Record<string, unknown> | undefined>)[name]);
  return value;
}

const bytesMaps = new WeakMap<Type, readonly string[]>();

/** The fields of a message that are maps of bytes: those of Secrets and ConfigMaps. */
function bytesMapsOf(type: Type): readonly string[] {
  let names = bytesMaps.get(type);
  if (!names) {
    names = type.fieldsArray.filter((field) => field.map && field.type === 'bytes').map(({ name }) => name);
    bytesMaps.set(type, names);
  }
  return names;
}

/** An entry without its value has empty bytes, for which the library gives a list. */
function completeBytes(map: Record<string, unknown> | undefined): void {
  for (const key in map) if (Array.isArray(map[key])) map[key] = Buffer.alloc(0);
}

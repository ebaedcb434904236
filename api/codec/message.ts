import type { Type } from 'protobufjs';
import { descriptorsOf } from './descriptors.ts';
import { compileDecoder, compileEncoder, type Decode, type Encode } from './message-compiler.ts';
import { WireInput } from './wire-input.ts';
import { WireOutput } from './wire-output.ts';

const types = new Map<string, Type>();

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
  try {
    encoderOf(messageType(messageName))(value, output);
    return output.take();
  } catch (error) {
    output.reset();
    throw error;
  }
}

/**
 * Bytes as a plain object in the in-memory form: absent stays absent, 64-bit integers are numbers, bytes are Buffers of their own, and of a
 * field that comes twice the last value counts; messages are merged. Throws an Error for bytes that are no such message. What it gives can
 * always be encoded again: what no number or text here can hold is read as the nearest one.
 */
export function decodeMessage<T extends object = Record<string, unknown>>(messageName: string, bytes: Uint8Array): T {
  return decode<T>(messageName, new WireInput(bytes, false));
}

/**
 * The same for bytes from outside, and whether there are fields that the message, or one in it, does not have. Throws an Error also for texts
 * that are not UTF-8 and for integers that a number does not hold: they would be kept as something else.
 */
export function decodeForeign<T extends object>(messageName: string, bytes: Uint8Array): { value: T; hasUnknown: boolean } {
  const input = new WireInput(bytes, true);
  const value = decode<T>(messageName, input);
  return { value, hasUnknown: input.hasUnknown };
}

function decode<T extends object>(messageName: string, input: WireInput): T {
  return decoderOf(messageType(messageName))(input, input.end) as T;
}

const decoders = new WeakMap<Type, Decode>();
const encoders = new WeakMap<Type, Encode>();
const output = new WireOutput();

function decoderOf(type: Type): Decode {
  return decoders.get(type) ?? remember(decoders, type, compileDecoder(type, decoderOf));
}

function encoderOf(type: Type): Encode {
  return encoders.get(type) ?? remember(encoders, type, compileEncoder(type, encoderOf));
}

function remember<T>(known: WeakMap<Type, T>, type: Type, value: T): T {
  known.set(type, value);
  return value;
}

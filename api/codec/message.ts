import { compileDecoder, compileEncoder, type Decode, type Encode } from './message-compiler.ts';
import { type MessageShape, messageShape } from './message-shapes.ts';
import { closeMembers, isOpen, openMembers } from './open-message.ts';
import { WireInput } from './wire-input.ts';
import { WireOutput } from './wire-output.ts';

/**
 * A message as bytes. The value must have the in-memory form that its generated type describes; that is trusted, not
 * checked, because everything enters through a decoder. Empty lists and maps are not written.
 */
export function encodeMessage(messageName: string, value: object): Buffer {
  try {
    encoderOf(messageShape(messageName))(value, output);
    return output.take();
  } catch (error) {
    output.reset();
    throw error;
  }
}

/**
 * Bytes as a plain object in the in-memory form: absent stays absent, 64-bit integers are numbers, bytes are Buffers of
 * their own, and of a field that comes twice the last value counts; messages are merged. Throws an Error for bytes that
 * are no such message. What it gives can always be encoded again: what no number or text here can hold is read as the
 * nearest one.
 */
export function decodeMessage<T extends object = Record<string, unknown>>(messageName: string, bytes: Uint8Array): T {
  return decode<T>(messageName, new WireInput(bytes, false));
}

/**
 * The same for bytes from outside, and whether there are fields that the message, or one in it, does not have. Throws
 * an Error also for texts that are not UTF-8 and for integers that a number does not hold: they would be kept as
 * something else.
 */
export function decodeForeign<T extends object>(messageName: string, bytes: Uint8Array): { value: T; hasUnknown: boolean } {
  const input = new WireInput(bytes, true);
  const value = decode<T>(messageName, input);
  return { value, hasUnknown: input.hasUnknown };
}

function decode<T extends object>(messageName: string, input: WireInput): T {
  return decoderOf(messageShape(messageName))(input, input.end) as T;
}

const decoders = new WeakMap<MessageShape, Decode>();
const encoders = new WeakMap<MessageShape, Encode>();
const output = new WireOutput();

function decoderOf(type: MessageShape): Decode {
  return decoders.get(type) ?? remember(decoders, type, makeDecoder(type));
}

function encoderOf(type: MessageShape): Encode {
  return encoders.get(type) ?? remember(encoders, type, makeEncoder(type));
}

function makeDecoder(type: MessageShape): Decode {
  const decode = compileDecoder(type, decoderOf);
  return isOpen(type.name) ? (input, end) => openMembers(decode(input, end)) : decode;
}

function makeEncoder(type: MessageShape): Encode {
  const encode = compileEncoder(type, encoderOf);
  return isOpen(type.name) ? (message, to) => encode(closeMembers(message), to) : encode;
}

function remember<T>(known: WeakMap<MessageShape, T>, type: MessageShape, value: T): T {
  known.set(type, value);
  return value;
}

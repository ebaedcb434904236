import type { Chance } from '../random.ts';
import { frame } from './raw-connection.ts';

const varint = (value: number): number[] => (value < 128 ? [value] : [(value % 128) + 128, ...varint(Math.floor(value / 128))]);

/** Lengths that lie: as a varint of protobuf. */
const lies = [127, 128, 65_535, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 53].map((value) => Buffer.from(varint(value)));

function nested(field: number, depth: number): Buffer {
  let message: Buffer<ArrayBufferLike> = Buffer.alloc(0);
  for (let i = 0; i < depth; i++)
    message = Buffer.concat([Buffer.from([field * 8 + 2]), Buffer.from(varint(message.length)), message]);
  return message;
}

/** The bytes of a message, damaged in one to three places. */
export function mutate(bytes: Buffer, chance: Chance): Buffer {
  let mutated: Buffer = Buffer.from(bytes);
  for (let i = chance.below(3); i >= 0; i--) mutated = mutateOnce(mutated, chance);
  return mutated;
}

function mutateOnce(bytes: Buffer, chance: Chance): Buffer {
  const at = chance.below(bytes.length + 1);
  const [before, after] = [bytes.subarray(0, at), bytes.subarray(at)];
  switch (chance.below(9)) {
    case 0:
      return Buffer.from(before);
    case 1:
      return Buffer.concat([before, Buffer.from([chance.below(256)]), after.subarray(1)]);
    case 2:
      return Buffer.concat([before, chance.pick(lies), after]);
    case 3:
      return Buffer.concat([before, after.subarray(chance.below(8))]);
    case 4:
      return Buffer.concat([before, before, after]);
    case 5:
      return Buffer.concat([before, Buffer.from(Array.from({ length: 1 + chance.below(40) }, () => chance.below(256))), after]);
    case 6:
      return Buffer.concat([bytes, nested(1 + chance.below(15), chance.pick([1, 30, 200, 2_000]))]);
    case 7:
      return Buffer.concat([bytes, Buffer.alloc(chance.pick([10, 1_000, 60_000]), 8 * (1 + chance.below(15)))]);
    default:
      return bytes.length === 0
        ? Buffer.from([255])
        : Buffer.from(bytes.map((byte, i) => (i === at % bytes.length ? byte ^ (1 << chance.below(8)) : byte)));
  }
}

/** A message in a frame that is mostly right. */
export function mutatedFrame(bytes: Buffer, chance: Chance): Buffer[] {
  switch (chance.below(14)) {
    case 0:
      return [];
    case 1:
      return [frame(bytes), frame(bytes)];
    case 2:
      return [frame(bytes, 1)];
    case 3:
      return [frame(bytes, chance.below(256))];
    case 4:
      return [frame(bytes, 0, chance.pick([0, bytes.length + 1, 2 ** 24, 2 ** 31, 2 ** 32 - 1]))];
    case 5:
      return [frame(bytes).subarray(0, chance.below(6))];
    case 6:
      return [frame(bytes), Buffer.from([0, 0])];
    case 7:
      return [...frame(bytes)].slice(0, 60).map((byte) => Buffer.from([byte]));
    case 8:
      // Costly for the sender.
      return [frame(chance.below(20) === 0 ? Buffer.alloc(4 * 1024 * 1024 + 1) : bytes)];
    default:
      return [frame(bytes)];
  }
}

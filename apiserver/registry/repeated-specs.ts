import { crc32 } from 'node:zlib';
import { LENGTH_DELIMITED } from '../../api/codec/wire-format.ts';
import { WireReader } from '../../api/codec/wire-reader.ts';
import type { Kind, Repeats } from '../../api/kinds/kind.ts';
import { deepFreeze } from '../../api/meta/deep-freeze.ts';
import { createLru } from '../../api/meta/lru.ts';
import type { AnyObject } from './any-object.ts';
import { cloneObject } from './clone-object.ts';
import { decodeObject, type Reading } from './decode.ts';
import { type EncodedObject, JudgedSpec, sameButDrawn } from './judged-spec.ts';

/** All specs that are kept, encoded; in memory each takes some ten times as much. */
const MOST_BYTES = 256 * 1024;
/** What one counts at least, so that 64 are kept at most. */
const LEAST_BYTES = 4 * 1024;
/** The spec of a larger object is not kept: a small one has fewer elements than an object may have. */
const MOST_OBJECT_BYTES = 16 * 1024;
/** Sums of specs that came once. */
const MOST_SEEN = 1_024;
/** In several namespaces admission may make different specs of one. */
const MOST_JUDGED = 4;
/** After so many it is not one template any more: no more are kept. */
const MOST_LEARNED = 32;

const METADATA = 1;
const SPEC = 2;

/** The parts of an encoded object, each with the tags of its fields. */
interface SplitObject {
  readonly spec: Buffer;
  /** The metadata, if any: an encoded object, too. */
  readonly rest: Buffer;
}

/** Undefined for an object that is large, or not of one spec and at most one metadata, and for damaged bytes. */
function splitObject(bytes: Uint8Array): SplitObject | undefined {
  if (bytes.length > MOST_OBJECT_BYTES) return undefined;
  const reader = new WireReader(bytes);
  let [spec, rest]: [Buffer | undefined, Buffer | undefined] = [undefined, undefined];
  try {
    while (reader.next()) {
      const { number, wire } = reader;
      if (wire !== LENGTH_DELIMITED) return undefined;
      if (number === SPEC && !spec) spec = reader.whole();
      else if (number === METADATA && !rest) rest = reader.whole();
      else return undefined;
    }
  } catch {
    // The decoder of the whole object says what is wrong.
    return undefined;
  }
  return spec && { spec, rest: rest ?? Buffer.alloc(0) };
}

/**
 * Decodes a new object of the stored version, as decodeObject does. A spec that came before is not decoded again: its
 * objects share a frozen one, for `RepeatedSpecs.of`.
 */
export function decodeNew({ kind, specs }: DecodingStore, bytes: Uint8Array, reading: Reading): AnyObject {
  const parts = specs && !reading.interpret ? splitObject(bytes) : undefined;
  const repeated = parts && specs?.find(parts);
  if (parts && repeated) {
    const read = decodeRest(kind, parts, reading);
    if (read && specs?.isPlain(read)) {
      read.spec = repeated.sent;
      return read;
    }
  }
  const read: AnyObject = decodeObject(kind, bytes, 'protobuf', reading);
  // A lenient writer's unknown fields are not noted.
  if (parts && !repeated && !reading.leftOut) specs?.learn(parts, read);
  return read;
}

interface DecodingStore {
  readonly kind: Kind;
  readonly specs: RepeatedSpecs | undefined;
}

/** Undefined where it is refused: the decoder of the whole object says why. */
function decodeRest(kind: Kind, { rest }: SplitObject, reading: Reading): AnyObject | undefined {
  try {
    return decodeObject(kind, rest, 'protobuf', reading);
  } catch {
    return undefined;
  }
}

/**
 * What was worked out of the specs of new objects that came more than once: most objects that are created by the
 * thousand are made of one template. Knows a spec by its bytes; the bounds are above, and what was not used for longest
 * makes room.
 */
export class RepeatedSpecs {
  readonly #kind: Kind;
  readonly #repeats: Repeats<AnyObject>;
  readonly #kept = createLru<RepeatedSpec>(MOST_BYTES, ({ bytes }) => Math.max(bytes.length, LEAST_BYTES));
  readonly #bySpec = new WeakMap<object, RepeatedSpec>();
  readonly #seen = new Set<string>();

  constructor(kind: Kind, repeats: Repeats<AnyObject>) {
    this.#kind = kind;
    this.#repeats = repeats;
  }

  /** How many are kept. */
  get size(): number {
    return this.#kept.size;
  }

  find({ spec }: SplitObject): RepeatedSpec | undefined {
    const found = this.#kept.get(sumOf(spec));
    return found?.bytes.equals(spec) ? found : undefined;
  }

  /** That of a decoded spec that `find` gave. */
  of(spec: object | undefined): RepeatedSpec | undefined {
    return spec && this.#bySpec.get(spec);
  }

  /** Whether the object may be made of a kept spec, which its metadata decides. */
  isPlain({ metadata = {} }: AnyObject): boolean {
    return this.#repeats.isPlainMetadata(metadata);
  }

  /** Hears of an object as it was decoded, of a spec that is not kept. Keeps the spec when it came before. */
  learn({ spec: bytes }: SplitObject, { spec }: AnyObject): void {
    if (!spec) return;
    const sum = sumOf(bytes);
    if (!this.#seen.delete(sum)) {
      if (this.#seen.size >= MOST_SEEN) this.#seen.clear();
      this.#seen.add(sum);
      return;
    }
    if (!this.#repeats.isPlainSpec(spec) || bytes.includes(this.#repeats.drawnPrefix)) return;
    const repeated = new RepeatedSpec(this.#kind, this.#repeats, { bytes: Buffer.from(bytes), sent: cloneObject(spec) });
    this.#kept.set(sum, repeated);
    this.#bySpec.set(repeated.sent, repeated);
  }
}

const sumOf = (bytes: Buffer): string => String(crc32(bytes));

/** One spec, and what follows from it. What its objects share is frozen: a write to it fails, and changes no other. */
export class RepeatedSpec {
  /** Encoded, as it was sent. */
  readonly bytes: Buffer;
  /** As it was decoded. */
  readonly sent: object;
  /** What its writers are told. */
  readonly warnings: readonly string[];
  readonly #kind: Kind;
  readonly #repeats: Repeats<AnyObject>;
  readonly #completed: object;
  /** As it was admitted, the newest first. */
  #judged: readonly JudgedSpec[] = [];
  #learned = 0;

  constructor(kind: Kind, repeats: Repeats<AnyObject>, { bytes, sent }: { readonly bytes: Buffer; readonly sent: object }) {
    this.#kind = kind;
    this.#repeats = repeats;
    this.bytes = bytes;
    this.warnings = kind.warnings?.({ spec: cloneObject(sent) } as AnyObject) ?? [];
    const object: AnyObject = { spec: cloneObject(sent) };
    kind.defaults(object);
    this.#completed = deepFreeze(object.spec!);
    this.sent = deepFreeze(sent);
  }

  /** The completed spec, which admission may change. */
  complete(): object {
    return this.#repeats.copySpec(this.#completed);
  }

  /** The same spec, admitted earlier and found valid. */
  judged(admitted: object | undefined): JudgedSpec | undefined {
    if (!admitted) return undefined;
    const drawn = this.#repeats.drawnText(admitted);
    return this.#judged.find((each) => sameButDrawn(each, admitted, drawn));
  }

  /** Hears of an object that is valid, and as what it is stored. */
  learn(object: AnyObject, stored: Uint8Array): void {
    if (this.#learned++ >= MOST_LEARNED) return;
    const judged = JudgedSpec.of(this.#kind, object, this.#repeats.drawnText(object.spec!));
    if (judged?.encode(object, judged.drawn).bytes.equals(stored))
      this.#judged = [judged, ...this.#judged.slice(0, MOST_JUDGED - 1)];
  }

  /** A valid object as it is stored. */
  encode(judged: JudgedSpec, object: AnyObject): EncodedObject {
    return judged.encode(object, this.#repeats.drawnText(object.spec!));
  }
}

/** What is read: JsonCopy. */
interface Input {
  at: number;
  isSame(other: Input, from: number, length: number): boolean;
}

/** What is written: JsonOutput. */
interface Output {
  readonly size: number;
  readonly generation: number;
  repeat(start: number, size: number): void;
}

/** Where a message stood, and where its JSON stands in the output. */
interface Written {
  input: Input;
  from: number;
  length: number;
  generation: number;
  start: number;
  size: number;
}

/** For each place of a message, by the last bits of its length: the items of a list often have different ones. */
const SLOTS = 8;
/** Shorter messages are written faster than they are compared. */
const LEAST_BYTES = 64;

/**
 * The messages that an output was written last, so that equal ones are copied from there: the objects of a list often
 * come from a few templates. It belongs to one list and goes with it, because it keeps stored objects in memory.
 */
export class JsonMemory {
  readonly #places = new Map<object, (Written | undefined)[]>();

  /** Copies the JSON of the message that ends at `to`, if the same one was written at this place; else false. */
  recall(place: object, input: Input, to: number, out: Output): boolean {
    const length = to - input.at;
    if (length < LEAST_BYTES) return false;
    const known = this.#places.get(place)?.[length % SLOTS];
    if (!known || known.length !== length || known.generation !== out.generation) return false;
    if (!input.isSame(known.input, known.from, length)) return false;
    out.repeat(known.start, known.size);
    input.at = to;
    return true;
  }

  /** Notes what was written from `start` for the message of these bounds. */
  keep(place: object, input: Input, from: number, start: number, out: Output): void {
    const length = input.at - from;
    if (length < LEAST_BYTES) return;
    let slots = this.#places.get(place);
    if (!slots) {
      slots = Array.from({ length: SLOTS }, () => undefined);
      this.#places.set(place, slots);
    }
    const known = slots[length % SLOTS];
    const { generation } = out;
    const size = out.size - start;
    if (!known) {
      slots[length % SLOTS] = { input, from, length, generation, start, size };
      return;
    }
    known.input = input;
    known.from = from;
    known.length = length;
    known.generation = generation;
    known.start = start;
    known.size = size;
  }
}

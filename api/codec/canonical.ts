import { canonicalQuantity, isQuantity, storedQuantity } from '../meta/quantity.ts';
import { decodeMessage, encodeMessage } from './message.ts';
import { type FieldShape, type MessageShape, messageShape } from './message-shapes.ts';

type Members = Record<string, unknown>;

const QUANTITY = 'berth.meta.v1.Quantity';

/**
 * A copy of a message as the store would give it back, with each quantity in its one text ("1000m" is "1"): two copies
 * are equal when the messages say the same. A text that is no quantity stays.
 */
export function canonicalMessage<T extends object>(messageName: string, message: T): T {
  const copy = decodeMessage<T>(messageName, encodeMessage(messageName, message));
  canonicalize(messageShape(messageName), copy as Members);
  return copy;
}

const fields = new WeakMap<MessageShape, ReadonlyMap<string, FieldShape>>();

/** The fields of a message that hold messages, by name. */
export function messageFieldsOf(shape: MessageShape): ReadonlyMap<string, FieldShape> {
  let known = fields.get(shape);
  if (!known) {
    known = new Map(shape.fields.filter((field) => field.message()).map((field) => [field.name, field]));
    fields.set(shape, known);
  }
  return known;
}

/** The messages that a field of a message holds: one, those of a list or those of a map. */
export function heldMessages({ repeated, keyType }: FieldShape, value: unknown): readonly object[] {
  if (value === undefined || value === null) return [];
  if (repeated) return value as readonly object[];
  return keyType === undefined ? [value as object] : Object.values(value as Members).map((each) => each as object);
}

function canonicalize(shape: MessageShape, message: Members): void {
  if (shape.name === QUANTITY) {
    const text = message.string;
    if (typeof text === 'string' && isQuantity(text)) message.string = canonicalQuantity(text);
    return;
  }
  const holders = messageFieldsOf(shape);
  for (const name of Object.keys(message)) {
    const field = holders.get(name);
    for (const held of field ? heldMessages(field, message[name]) : []) canonicalize(field!.message()!, held as Members);
  }
}

type Change = (message: Members) => void;

/** What brings the quantities of a message into their form; undefined where it can hold none. */
const changes = new WeakMap<MessageShape, Change | undefined>();

/**
 * Brings each quantity of a message into the text in which it is stored, in place: what the codec of JSON does while it
 * reads, for what came as protobuf, or was stored by a version of Berth that kept the texts as they were sent. Looks
 * only where there can be quantities.
 */
export function storeQuantities(messageName: string, message: object): void {
  changeOf(messageShape(messageName))?.(message as Members);
}

function changeOf(shape: MessageShape): Change | undefined {
  if (changes.has(shape)) return changes.get(shape);
  // A message may contain itself.
  changes.set(shape, (message) => changes.get(shape)?.(message));
  const change = shape.name === QUANTITY ? storeText : compileChange(shape);
  changes.set(shape, change);
  return change;
}

function storeText(message: Members): void {
  const text = message.string;
  if (typeof text === 'string') message.string = storedQuantity(text) ?? text;
}

function compileChange(shape: MessageShape): Change | undefined {
  const holders = [...messageFieldsOf(shape).values()].flatMap((field) => {
    const change = changeOf(field.message()!);
    return change ? [{ field, name: field.name, change }] : [];
  });
  if (holders.length === 0) return undefined;
  return (message) => {
    for (const { field, name, change } of holders) for (const held of heldMessages(field, message[name])) change(held as Members);
  };
}

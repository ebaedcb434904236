import { type FieldShape, type MessageShape, messageShape } from '../../../api/codec/message-shapes.ts';
import { isOpen } from '../../../api/codec/open-message.ts';
import type { Timestamp } from '../../../api/generated/types.ts';
import { truncatedTime } from '../../../api/meta/time.ts';
import { requiredFields } from '../../openapi/required-fields.ts';
import { pointerFieldsOf } from './pointer-fields.ts';

type Message = Record<string, unknown>;

/** What a zero of a field means, and how what is below it is reached. */
type Rule =
  | { readonly of: 'kept' }
  /** A number, text or truth: its zero is nothing. */
  | { readonly of: 'plain' }
  /** A time without seconds is nothing; others have so many digits behind the second. */
  | { readonly of: 'time'; readonly digits: 0 | 6 }
  /** A port that is 0: nothing. */
  | { readonly of: 'port' }
  | { readonly of: 'message' | 'list' | 'map'; readonly below: MessageShape };

const rules = new WeakMap<MessageShape, ReadonlyMap<string, Rule>>();

/**
 * Removes, in place, the zeros of an object that Go's clients write where nothing was given, so that defaults come and
 * an object that is read and written back stays what it was. What Kubernetes requires, and what may be a zero, is kept.
 * Times are truncated as in Kubernetes.
 */
export function dropGoZeros(message: string, object: object): void {
  if (!isOpen(message)) dropBelow(messageShape(message), object as Message);
}

function dropBelow(shape: MessageShape, object: Message): void {
  const known = rulesOf(shape);
  for (const name in object) {
    const rule = known.get(name);
    const value = object[name];
    if (rule === undefined || value === undefined || value === null) continue;
    if (isNothing(rule, value)) delete object[name];
    // Zero nanoseconds go as well: with them a time would count as another one than the stored.
    else if (rule.of === 'time') object[name] = truncatedTime(value as Timestamp, rule.digits);
    else if (rule.of === 'message') dropBelow(rule.below, value as Message);
    else if (rule.of === 'list') for (const item of value as Message[]) dropBelow(rule.below, item);
    else if (rule.of === 'map') for (const key in value) dropBelow(rule.below, (value as Record<string, Message>)[key]!);
  }
}

function isNothing(rule: Rule, value: unknown): boolean {
  if (rule.of === 'plain') return value === '' || value === 0 || value === false;
  return (rule.of === 'time' && isZeroTime(value as Message)) || (rule.of === 'port' && isZeroPort(value as Message));
}

function rulesOf(shape: MessageShape): ReadonlyMap<string, Rule> {
  let known = rules.get(shape);
  if (!known) {
    const kept = new Set([...pointerFieldsOf(shape.name), ...requiredFields(shape.name)]);
    known = new Map(shape.fields.map((field) => [field.name, ruleOf(field, kept.has(field.name))]));
    rules.set(shape, known);
  }
  return known;
}

/** Messages that are one value in JSON: nothing below them is looked at. */
const opaque: ReadonlySet<string> = new Set([
  ...['berth.meta.v1.Quantity', 'berth.meta.v1.FieldsV1', 'berth.meta.v1.RawExtension', 'google.protobuf.Duration'],
]);

function ruleOf(field: FieldShape, isKept: boolean): Rule {
  const below = field.message();
  const isSingle = !field.repeated && field.keyType === undefined;
  if (below === undefined) return { of: isSingle && !isKept ? 'plain' : 'kept' };
  if (below.name === 'google.protobuf.Timestamp') return isSingle ? { of: 'time', digits: field.micro ? 6 : 0 } : { of: 'kept' };
  if (below.name === 'berth.meta.v1.IntOrString') return { of: field.name === 'targetPort' && isSingle ? 'port' : 'kept' };
  if (opaque.has(below.name)) return { of: 'kept' };
  return { of: isSingle ? 'message' : field.repeated ? 'list' : 'map', below };
}

/** How Go writes a time that is none: the year 1 has no place in a Timestamp of its own. */
const isZeroTime = ({ seconds, nanos }: Message): boolean => !seconds && !nanos;
const isZeroPort = ({ intVal, strVal }: Message): boolean => !intVal && !strVal;

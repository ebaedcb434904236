import { messageFromJson, messageToJson } from '../../../codec/json.ts';
import { ApiError } from '../../../errors/api-error.ts';
import { invalid } from '../../../errors/constructors.ts';
import { invalidValue } from '../../../errors/violations.ts';
import type { HorizontalPodAutoscaler, ObjectMeta } from '../../../generated/types.ts';
import { isTooDeep } from '../../../meta/json-depth.ts';
import { isJsonObject, type Json, type JsonObject } from '../../../meta/merge-patch.ts';

/** What the annotations of autoscaling/v1 hold. */
export const held = {
  metrics: 'autoscaling.alpha.kubernetes.io/metrics',
  currentMetrics: 'autoscaling.alpha.kubernetes.io/current-metrics',
  conditions: 'autoscaling.alpha.kubernetes.io/conditions',
  behavior: 'autoscaling.alpha.kubernetes.io/behavior',
  /** Berth's own: metrics as they are, where Kubernetes' annotations would give back others or another order. */
  exact: 'berth.io/autoscaling-v2-metrics',
} as const;

export type Held = keyof typeof held;

/** Characters of one of them, as all annotations of an object may have, and values in it, as an object may have. */
const MOST_CHARACTERS = 256 * 1024;
const MOST_VALUES = 10_000;

const PACKAGE = 'berth.autoscaling.v2';

/** Metadata with what is held, and without annotations of these names that were there before. */
export function withHeld(metadata: ObjectMeta | undefined, values: { readonly [Name in Held]?: Json | undefined }): ObjectMeta {
  const { annotations, ...others } = metadata ?? {};
  const kept = Object.entries(annotations ?? {}).filter(([name]) => !Object.values<string>(held).includes(name));
  const added = Object.entries(values).flatMap(([name, value]) =>
    value === undefined ? [] : [[held[name as Held], JSON.stringify(value)]],
  );
  const all = [...kept, ...added];
  return all.length === 0 ? others : { ...others, annotations: Object.fromEntries(all) };
}

/** Reads what the annotations of an object hold. */
export class HeldReader {
  readonly #metadata: ObjectMeta;

  constructor({ metadata = {} }: Pick<HorizontalPodAutoscaler, 'metadata'>) {
    this.#metadata = metadata;
  }

  /** The JSON of an annotation; undefined where there is none. Throws INVALID_ARGUMENT for what is no JSON. */
  json(name: Held): Json | undefined {
    const text = this.#metadata.annotations?.[held[name]];
    if (text === undefined || text === '') return undefined;
    if (text.length > MOST_CHARACTERS) throw this.#wrong(name, `it has more than ${MOST_CHARACTERS} characters`);
    const value = this.#parsed(name, text);
    if (isTooDeep(value)) throw this.#wrong(name, 'it is nested too deeply');
    if (valuesIn(value) > MOST_VALUES) throw this.#wrong(name, `it has more than ${MOST_VALUES} objects, members and items`);
    return value;
  }

  #parsed(name: Held, text: string): Json {
    try {
      return JSON.parse(text) as Json;
    } catch {
      throw this.#wrong(name, 'it is no JSON');
    }
  }

  /** A list of objects. */
  list(name: Held, value: Json | undefined = this.json(name)): JsonObject[] | undefined {
    if (value === undefined || value === null) return undefined;
    if (Array.isArray(value) && value.every(isJsonObject)) return value as JsonObject[];
    throw this.#wrong(name, 'it is no list of objects');
  }

  /** Objects as messages of autoscaling/v2. Throws INVALID_ARGUMENT for fields that these do not have. */
  messages<T extends object>(name: Held, message: string, objects: readonly JsonObject[]): T[] {
    return objects.map((object) => this.message<T>(name, message, object));
  }

  message<T extends object>(name: Held, message: string, object: Json): T {
    try {
      return messageFromJson<T>(`${PACKAGE}.${message}`, object);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const why = error.violations.map(({ field, description }) => `${field}: ${description}`).join('; ');
      throw this.#wrong(name, why);
    }
  }

  #wrong(name: Held, why: string): ApiError {
    const { name: object, namespace } = this.#metadata;
    const subject = { kind: 'HorizontalPodAutoscaler', ...(object && { name: object }), ...(namespace && { namespace }) };
    const field = `metadata.annotations[${held[name]}]`;
    return invalid(subject, [
      invalidValue(field, this.#metadata.annotations?.[held[name]], `must be JSON of its field in autoscaling/v2: ${why}`),
    ]);
  }
}

/** The value itself, and all that it has within. */
function valuesIn(value: Json): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce((sum: number, inner) => sum + valuesIn(inner as Json), 1);
}

/** A message of autoscaling/v2 as JSON. */
export const jsonOf = (message: string, value: object): JsonObject => messageToJson(`${PACKAGE}.${message}`, value);

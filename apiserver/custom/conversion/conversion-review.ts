import { toJson } from '../../../api/codec/json.ts';
import { openMessage } from '../../../api/codec/open-message.ts';
import type { ObjectMeta } from '../../../api/generated/types.ts';
import { conversionReviewVersions } from '../../../api/kinds/custom-resource-definition/meaning.ts';
import type { ApiObject, Kind } from '../../../api/kinds/kind.ts';
import { validateAnnotations, validateLabels } from '../../../api/kinds/metadata.ts';
import { equalValues } from '../../../api/meta/equal.ts';
import { isTextTooDeep, isTooDeep, tooDeepText } from '../../../api/meta/json-depth.ts';
import { isJsonObject, type Json, type JsonObject } from '../../../api/meta/merge-patch.ts';
import { WebhookFailure } from '../../admission/webhooks/review.ts';
import type { ConversionFailureType } from './conversion-metrics.ts';

// ConversionReview of apiextensions.k8s.io: what a conversion webhook is asked, and what it answers. Pure.

/** An object that is to be converted. */
export interface Convertible {
  /** Of the version that it is in. */
  readonly apiVersion: string;
  readonly kind: string;
  readonly object: ApiObject;
}

/** The version that is wanted, and what its schema says of the digits of numbers. */
export type Desired = Pick<Kind, 'apiVersion' | 'unkeptNumbers'>;

/** A review that is to be sent. */
export interface Review {
  readonly uid: string;
  /** "v1" or "v1beta1". */
  readonly version: string;
  readonly desired: Desired;
  readonly objects: readonly Convertible[];
}

/** A conversion webhook answered, but not with what it was asked for. */
export class UnusableReview extends WebhookFailure {
  readonly type: ConversionFailureType;

  constructor(type: ConversionFailureType, message: string) {
    super(message);
    this.type = type;
  }
}

const MESSAGE_CHARACTERS = 4_096;

/** The first of the versions of ConversionReview that both sides speak. */
export function reviewVersion(versions: readonly string[]): string {
  return versions.find((version) => conversionReviewVersions.includes(version)) ?? 'v1';
}

export function reviewText({ uid, version, desired, objects }: Review): string {
  const sent = objects.map(({ apiVersion, kind, object }) => toJson({ apiVersion, kind, message: openMessage }, object));
  const request = { uid, desiredAPIVersion: desired.apiVersion, objects: sent };
  return JSON.stringify({ kind: 'ConversionReview', apiVersion: `apiextensions.k8s.io/${version}`, request });
}

/** The converted objects, in order. Throws UnusableReview; its message goes on from "conversion webhook for X". */
export function readReview(text: string, review: Review): readonly ApiObject[] {
  const { objects, desired } = review;
  const converted = convertedObjects(text, review);
  if (converted.length !== objects.length)
    throw new UnusableReview(
      'conversion_webhook_partial_response_failure',
      `returned ${converted.length} objects, expected ${objects.length}`,
    );
  const invalid = 'conversion_webhook_invalid_converted_object_failure';
  return objects.map((original, index) => {
    const what = objects.length === 1 ? 'invalid object at index 0' : `invalid converted object at index ${index}`;
    return readObject(original, converted[index], desired, (why) => new UnusableReview(invalid, `returned ${what}: ${why}`));
  });
}

function convertedObjects(text: string, { uid, version }: Review): readonly Json[] {
  const wrong = (why: string): never => {
    throw new UnusableReview('conversion_webhook_malformed_response_failure', `failed: ${cut(why)}`);
  };
  if (isTextTooDeep(text)) return wrong(`the answer ${tooDeepText}`);
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    return wrong(`the answer is no JSON: ${shown(text)}`);
  }
  if (!isJsonObject(answer)) return wrong('the answer is no JSON object');
  const { apiVersion, kind, response } = answer;
  const expected = `apiextensions.k8s.io/${version}`;
  // Webhooks of the older version were never asked for these.
  if (version !== 'v1beta1' && (kind !== 'ConversionReview' || apiVersion !== expected))
    return wrong(
      `expected webhook response of ${expected}, Kind=ConversionReview, got ${shown(apiVersion)}, Kind=${shown(kind)}`,
    );
  if (!isJsonObject(response)) return wrong('no response provided');
  if (version !== 'v1beta1' && response.uid !== uid)
    return wrong(`expected response.uid="${uid}", got ${response.uid === undefined ? '""' : shown(response.uid)}`);
  const { status = '', message = '' } = isJsonObject(response.result) ? response.result : {};
  if (status !== 'Success')
    return wrong(typeof message === 'string' && message ? message : `response.result.status was '${status}', not 'Success'`);
  const { convertedObjects: list } = response;
  return Array.isArray(list) ? list : [];
}

/** Only labels and annotations of the metadata may be others. */
function readObject(
  { kind, object }: Convertible,
  json: Json | undefined,
  { apiVersion: desired, unkeptNumbers }: Desired,
  wrong: (why: string) => Error,
): ApiObject {
  if (!isJsonObject(json)) throw wrong('it is no object');
  if (isTooDeep(json)) throw wrong(`it ${tooDeepText}`);
  if (json.apiVersion !== desired) throw wrong(`invalid groupVersion (expected ${desired}, received ${textOf(json.apiVersion)})`);
  if (json.kind !== kind)
    throw wrong(`invalid kind (expected ${desired}, Kind=${kind}, received ${desired}, Kind=${textOf(json.kind)})`);
  const { metadata, ...members } = json;
  if (!isJsonObject(metadata)) throw wrong(`missing metadata in converted object`);
  const before = object.metadata ?? {};
  const firm = { name: 'name', namespace: 'namespace', uid: 'UID' } as const;
  for (const [field, called] of Object.entries(firm) as [keyof typeof firm, string][])
    if (textOf(metadata[field]) !== (before[field] ?? ''))
      throw wrong(`must have the same ${called}: ${before[field] ?? ''} != ${textOf(metadata[field])}`);
  const labels = readTexts(metadata, 'labels', before.labels, wrong);
  const annotations = readTexts(metadata, 'annotations', before.annotations, wrong);
  const { labels: _, annotations: __, ...kept } = before;
  const after: ObjectMeta = { ...kept, ...(labels && { labels }), ...(annotations && { annotations }) };
  const { apiVersion: ___, kind: ____, ...content } = members;
  const [unkept] = unkeptNumbers?.(content) ?? [];
  if (unkept) throw wrong(`${unkept.field}: ${unkept.description}`);
  return { metadata: after, ...content };
}

function readTexts(
  metadata: JsonObject,
  field: 'labels' | 'annotations',
  before: Readonly<Record<string, string>> | undefined,
  wrong: (why: string) => Error,
): Record<string, string> | undefined {
  const value = metadata[field];
  if (value === undefined || value === null) return undefined;
  if (!isJsonObject(value)) throw wrong(`invalid metadata.${field} in converted object: it is no object`);
  for (const [key, text] of Object.entries(value))
    if (typeof text !== 'string')
      throw wrong(`metadata.${field}[${key}] must be a string, but is ${typeof text} in converted object`);
  const texts = value as Record<string, string>;
  if (!equalValues(texts, before ?? {})) {
    const validate = field === 'labels' ? validateLabels : validateAnnotations;
    const [first] = validate(`metadata.${field}`, texts);
    if (first) throw wrong(`${first.field}: ${first.description}`);
  }
  return Object.keys(texts).length > 0 ? texts : undefined;
}

const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : value === undefined ? '' : shown(value));
const cut = (text: string): string => (text.length > MESSAGE_CHARACTERS ? `${text.slice(0, MESSAGE_CHARACTERS)}...` : text);
const shown = (value: unknown): string => (JSON.stringify(value) ?? 'nothing').slice(0, 80);

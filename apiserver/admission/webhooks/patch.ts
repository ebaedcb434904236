import { readObject, toJson, undecodable } from '../../../api/codec/json.ts';
import { ApiError } from '../../../api/errors/index.ts';
import { FIELD_UNKNOWN } from '../../../api/errors/violations.ts';
import type { ApiObject } from '../../../api/kinds/kind.ts';
import { applyJsonPatch, type JsonPatchOperation } from '../../../api/meta/json-patch.ts';
import { isJsonObject, type Json, type JsonObject } from '../../../api/meta/merge-patch.ts';
import { type SentForm, toForm } from '../matching/request.ts';
import { WebhookFailure } from './review.ts';

/** What a webhook may not change: which object it is. */
const FIRM = ['name', 'namespace', 'uid'] as const;

interface Patched {
  readonly object: ApiObject;
  /** Paths of the fields that the kind does not have. */
  readonly leftOut: readonly string[];
}

/**
 * The stored object as a patch of its sent form makes it. Fields that the kind does not have are left out, as in
 * Kubernetes: webhooks are often made for newer versions. Throws WebhookFailure for a patch that does not apply, whose
 * result is no object of the kind, and that changes which object it is.
 */
export function patchedObject(form: SentForm, object: ApiObject, patch: readonly JsonPatchOperation[]): Patched {
  const before = toJson(form, toForm(form, object));
  const after = orFailure('cannot be applied', () => applyJsonPatch(before, patch));
  if (!isJsonObject(after)) throw new WebhookFailure('response.patch cannot be applied: the result is no object');
  checkFirm(before, after);
  return orFailure('makes an object that cannot be read', () => {
    const { value, violations } = readObject<ApiObject>(form, after);
    if (violations.some(({ reason }) => reason !== FIELD_UNKNOWN)) throw undecodable(form, after, violations);
    const leftOut = violations.map(({ field }) => field);
    return { object: form.conversion ? form.conversion.toStored(value) : value, leftOut };
  });
}

function checkFirm(before: JsonObject, after: JsonObject): void {
  const changed = (['apiVersion', 'kind'] as const).filter((field) => after[field] !== before[field]) as string[];
  const [was, is] = [metadataOf(before), metadataOf(after)];
  changed.push(...FIRM.filter((field) => textOf(was[field]) !== textOf(is[field])).map((field) => `metadata.${field}`));
  if (changed.length > 0) throw new WebhookFailure(`response.patch may not change ${changed.join(', ')}`);
}

const metadataOf = ({ metadata }: JsonObject): JsonObject => (isJsonObject(metadata) ? metadata : {});
const textOf = (value: Json | undefined): Json => value ?? '';

function orFailure<T>(what: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw new WebhookFailure(`response.patch ${what}: ${error.message.replace(/^cannot patch: /, '')}`);
  }
}

import { isTextTooDeep, isTooDeep, tooDeepText } from '../../../api/meta/json-depth.ts';
import { type JsonPatchOperation, parseJsonPatch } from '../../../api/meta/json-patch.ts';
import { isJsonObject, type Json, type JsonObject } from '../../../api/meta/merge-patch.ts';
import type { RequestObjects } from '../matching/request.ts';

// AdmissionReview of admission.k8s.io/v1: what is asked of a webhook, and what it answers. Pure.

/** What a webhook says of a request. */
export interface Verdict {
  readonly isAllowed: boolean;
  /** Why not, and the HTTP status for the client; 400 where the webhook names none, as in Kubernetes. */
  readonly message: string;
  readonly httpCode: number;
  readonly reason: string;
  readonly patch: readonly JsonPatchOperation[] | undefined;
  readonly warnings: readonly string[];
  readonly auditAnnotations: Readonly<Record<string, string>>;
}

/** A webhook gave no usable answer; the message is a clause that says why. The failure policy decides what follows. */
export class WebhookFailure extends Error {
  override readonly name = 'WebhookFailure';
}

/** Whether a webhook is to be called cannot be told: a match condition fails. */
export class ConditionFailure extends WebhookFailure {}

const VERSION = 'admission.k8s.io/v1';
const KIND = 'AdmissionReview';
const MOST_WARNINGS = 10;
/** Characters of a warning, as Kubernetes truncates it. */
const WARNING_CHARACTERS = 256;
const MESSAGE_CHARACTERS = 4_096;
const MOST_ANNOTATIONS = 20;
const ANNOTATION_CHARACTERS = 1_024;
/** No two parts match the same character: a long wrong text takes linear time. */
const BASE64 = /^[A-Za-z0-9+/\s]+(?:=\s*){0,2}$/;
/** Kubernetes' shape of the key of an annotation, without the name of the webhook that is put before it. */
const ANNOTATION_KEY = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;

/** The text to send. */
export function reviewText({ request, object, oldObject }: RequestObjects): string {
  return JSON.stringify({ kind: KIND, apiVersion: VERSION, request: { ...request, object, oldObject } });
}

/** Reads the answer to the request of that uid. Throws WebhookFailure. */
export function readReview(text: string, uid: string, mutates: boolean): Verdict {
  const { kind, apiVersion, response } = parsed(text);
  if (kind !== KIND || apiVersion !== VERSION)
    throw new WebhookFailure(`expected response of ${KIND} in ${VERSION}, got ${shown(kind)} in ${shown(apiVersion)}`);
  if (!isJsonObject(response)) throw new WebhookFailure('the answer has no response');
  if (response.uid !== uid) throw new WebhookFailure(`expected response.uid="${uid}", got ${shown(response.uid)}`);
  if (typeof response.allowed !== 'boolean') throw new WebhookFailure('response.allowed is not true or false');
  const { message, code, reason } = isJsonObject(response.status) ? response.status : {};
  return {
    isAllowed: response.allowed,
    message: cut(textOf(message) || textOf(reason), MESSAGE_CHARACTERS),
    httpCode: typeof code === 'number' && Number.isInteger(code) && code >= 400 && code < 600 ? code : 400,
    reason: cut(textOf(reason), WARNING_CHARACTERS),
    patch: response.allowed ? patchOf(response, mutates) : undefined,
    warnings: warningsOf(response.warnings),
    auditAnnotations: annotationsOf(response.auditAnnotations),
  };
}

function parsed(text: string): JsonObject {
  const tooDeep = () => new WebhookFailure(`the answer ${tooDeepText}`);
  if (isTextTooDeep(text)) throw tooDeep();
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new WebhookFailure(`the answer is no JSON: ${shown(text)}`);
  }
  if (!isJsonObject(value)) throw new WebhookFailure('the answer is no JSON object');
  if (isTooDeep(value)) throw tooDeep();
  return value;
}

function patchOf({ patch, patchType }: JsonObject, mutates: boolean): readonly JsonPatchOperation[] | undefined {
  const isEmpty = patch === undefined || patch === null || patch === '';
  if (!mutates) {
    if (!isEmpty) throw new WebhookFailure('a validating webhook may not answer a patch');
    return undefined;
  }
  if (isEmpty) {
    if (patchType) throw new WebhookFailure('response.patchType is set without response.patch');
    return undefined;
  }
  if (patchType !== 'JSONPatch') throw new WebhookFailure(`response.patchType ${shown(patchType)} is not "JSONPatch"`);
  if (typeof patch !== 'string' || !BASE64.test(patch)) throw new WebhookFailure('response.patch is no base64');
  const text = Buffer.from(patch, 'base64').toString('utf8');
  try {
    const value = isTextTooDeep(text) ? undefined : (JSON.parse(text) as Json);
    if (value === undefined || isTooDeep(value)) throw new Error(`it ${tooDeepText}`);
    return parseJsonPatch(value);
  } catch (error) {
    throw new WebhookFailure(`response.patch cannot be read: ${(error as Error).message}`);
  }
}

function warningsOf(value: Json | undefined): readonly string[] {
  const texts = (Array.isArray(value) ? value : []).filter((each) => typeof each === 'string' && each.trim() !== '') as string[];
  return boundWarnings(texts);
}

/** As many and as long ones as a client is told for one answer. */
export function boundWarnings(texts: readonly string[]): readonly string[] {
  const said = texts.slice(0, MOST_WARNINGS).map((each) => cut(each.trim(), WARNING_CHARACTERS));
  return texts.length > MOST_WARNINGS ? [...said, `${texts.length - MOST_WARNINGS} more warnings are left out`] : said;
}

function annotationsOf(value: Json | undefined): Readonly<Record<string, string>> {
  if (!isJsonObject(value)) return {};
  const usable = Object.entries(value).filter(([key, each]) => typeof each === 'string' && ANNOTATION_KEY.test(key));
  return Object.fromEntries(
    usable.slice(0, MOST_ANNOTATIONS).map(([key, each]) => [key, cut(String(each), ANNOTATION_CHARACTERS)]),
  );
}

const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '');
const cut = (text: string, most: number): string => (text.length > most ? `${text.slice(0, most)}...` : text);
const shown = (value: unknown): string => cut(JSON.stringify(value) ?? 'nothing', 80);

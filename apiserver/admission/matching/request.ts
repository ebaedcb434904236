import { toJson } from '../../../api/codec/json.ts';
import { isCustom } from '../../../api/kinds/custom/custom-kind.ts';
import { groupOf } from '../../../api/kinds/identity.ts';
import type { ApiObject, Kind } from '../../../api/kinds/kind.ts';
import { olderVersionsOf } from '../../../api/kinds/versions.ts';
import type { Json, JsonObject } from '../../../api/meta/merge-patch.ts';
import type { AdmissionAttributes, Operation, RequestForm } from '../dynamic.ts';
import { type RequestRights, requestRights } from './request-rights.ts';
import { versionOf } from './rules.ts';

/** What Kubernetes calls the options of each operation. */
const OPTIONS: Readonly<Record<Operation, string>> = {
  CREATE: 'CreateOptions',
  UPDATE: 'UpdateOptions',
  DELETE: 'DeleteOptions',
  CONNECT: '',
};

/** How objects are written; `conversion` makes them from the stored version. */
export type SentForm = RequestForm & Pick<Kind, 'conversion'>;

/** How the rules that are asked know a request. */
interface Asked {
  /** Absent: `request` has none. */
  readonly uid?: string;
  /** The apiVersion that they name where it is another one than the request's. */
  readonly version?: string;
}

/** The form of the request's objects in another version of its kind. A subresource of another group has one form. */
export function formIn({ kind, form }: AdmissionAttributes, version: string): SentForm {
  if (form.apiVersion !== kind.apiVersion || version === kind.apiVersion) return form;
  const older = isCustom(kind) ? undefined : olderVersionsOf(kind.kind).find(({ apiVersion }) => apiVersion === version);
  return older ?? { ...form, apiVersion: version };
}

/**
 * A request with its objects in another version of its kind, where a webhook has to make them; those of Berth's own
 * kinds are converted when they are shown. Throws INTERNAL with what the webhook did.
 */
export async function inVersion(attributes: AdmissionAttributes, version: string): Promise<AdmissionAttributes> {
  const { convert, form, kind, object, previous } = attributes;
  if (!convert || form.apiVersion !== kind.apiVersion || version === kind.apiVersion) return attributes;
  const objects = [object, previous].filter((each) => each !== undefined);
  const converted = [...(await convert(objects, { from: kind.apiVersion, to: version }))];
  return { ...attributes, object: object && converted.shift(), previous: previous && converted.shift() };
}

/** An object in a version, as the request has it. */
export async function fromVersion(
  { convert, form, kind }: AdmissionAttributes,
  object: ApiObject,
  version: string,
): Promise<ApiObject> {
  if (!convert || form.apiVersion !== kind.apiVersion || version === kind.apiVersion) return object;
  return (await convert([object], { from: version, to: kind.apiVersion }))[0]!;
}

/** A stored object in a form. */
export function toForm({ conversion }: SentForm, object: ApiObject): ApiObject {
  return conversion ? conversion.fromStored(object) : object;
}

/** The request as an AdmissionReview and the variable `request` have it, without its objects. */
export function requestJson(attributes: AdmissionAttributes, { uid: requestUid, version }: Asked = {}): JsonObject {
  const { operation, kind, requested, form, subresource, name, namespace, dryRun, call } = attributes;
  const { user, groups, uid, extra } = call.identity;
  const sent = formIn(attributes, version ?? kind.apiVersion);
  const isOwnForm = form.apiVersion === kind.apiVersion;
  return {
    ...(requestUid && { uid: requestUid }),
    kind: named(sent.apiVersion, { kind: sent.kind }),
    resource: named(isOwnForm ? sent.apiVersion : kind.apiVersion, { resource: kind.plural }),
    ...(subresource && { subResource: subresource }),
    requestKind: named(isOwnForm ? (requested ?? form.apiVersion) : form.apiVersion, { kind: form.kind }),
    requestResource: named(requested ?? kind.apiVersion, { resource: kind.plural }),
    ...(subresource && { requestSubResource: subresource }),
    ...(name && { name }),
    ...(namespace && kind.namespaced && { namespace }),
    operation,
    userInfo: {
      username: user,
      ...(uid && { uid }),
      groups: [...groups],
      ...(extra && { extra: extra as unknown as Json }),
    },
    dryRun,
    ...optionsJson(attributes),
  };
}

function named(apiVersion: string, name: JsonObject): JsonObject {
  return { group: groupOf(apiVersion), version: versionOf(apiVersion), ...name };
}

function optionsJson({ operation, manager, dryRun }: AdmissionAttributes): JsonObject {
  if (OPTIONS[operation] === '') return {};
  const options: JsonObject = { apiVersion: 'meta.k8s.io/v1', kind: OPTIONS[operation] };
  if (operation !== 'DELETE') options.fieldManager = manager;
  if (dryRun) options.dryRun = ['All'];
  return { options };
}

/** The objects of a request as JSON, each made once, when it is first asked for. */
export class RequestObjects {
  readonly #attributes: AdmissionAttributes;
  readonly #asked: Asked;
  #object: JsonObject | null | undefined;
  #previous: JsonObject | null | undefined;
  #request: JsonObject | undefined;

  constructor(attributes: AdmissionAttributes, asked: Asked = {}) {
    this.#attributes = attributes;
    this.#asked = asked;
  }

  /** Null for a deletion. */
  get object(): JsonObject | null {
    this.#object ??= this.#json(this.#attributes.object);
    return this.#object;
  }

  /** Null for what is new. */
  get oldObject(): JsonObject | null {
    this.#previous ??= this.#json(this.#attributes.previous);
    return this.#previous;
  }

  /** For the variable "authorizer". */
  get rights(): RequestRights | undefined {
    return requestRights(this.#attributes);
  }

  get request(): JsonObject {
    this.#request ??= requestJson(this.#attributes, this.#asked);
    return this.#request;
  }

  #json(object: ApiObject | undefined): JsonObject | null {
    if (!object) return null;
    const form = formIn(this.#attributes, this.#asked.version ?? this.#attributes.kind.apiVersion);
    return toJson(form, toForm(form, object));
  }
}

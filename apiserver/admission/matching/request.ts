import { toJson } from '../../../api/codec/json.ts';
import { groupOf } from '../../../api/kinds/identity.ts';
import type { Json, JsonObject } from '../../../api/meta/merge-patch.ts';
import type { AdmissionAttributes, Operation } from '../dynamic.ts';
import { versionOf } from './rules.ts';

/** What Kubernetes calls the options of each operation. */
const OPTIONS: Readonly<Record<Operation, string>> = {
  CREATE: 'CreateOptions',
  UPDATE: 'UpdateOptions',
  DELETE: 'DeleteOptions',
  CONNECT: '',
};

/** The request as an AdmissionReview and the variable `request` have it, without uid and objects. */
export function requestJson(attributes: AdmissionAttributes): JsonObject {
  const { operation, kind, form, subresource, name, namespace, dryRun, call } = attributes;
  const resource = { group: groupOf(kind.apiVersion), version: versionOf(kind.apiVersion), resource: kind.plural };
  const { user, groups, uid, extra } = call.identity;
  const { apiVersion } = form;
  const gvk = { group: groupOf(apiVersion), version: versionOf(apiVersion), kind: form.kind };
  return {
    kind: gvk,
    resource,
    ...(subresource && { subResource: subresource }),
    requestKind: gvk,
    requestResource: resource,
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
  #object: JsonObject | null | undefined;
  #previous: JsonObject | null | undefined;
  #request: JsonObject | undefined;

  constructor(attributes: AdmissionAttributes) {
    this.#attributes = attributes;
  }

  /** Null for a deletion. */
  get object(): JsonObject | null {
    const { form, object } = this.#attributes;
    this.#object ??= object ? toJson(form, object) : null;
    return this.#object;
  }

  /** Null for what is new. */
  get oldObject(): JsonObject | null {
    const { form, previous } = this.#attributes;
    this.#previous ??= previous ? toJson(form, previous) : null;
    return this.#previous;
  }

  get request(): JsonObject {
    this.#request ??= requestJson(this.#attributes);
    return this.#request;
  }
}

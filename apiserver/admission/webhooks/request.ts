import { toJson } from '../../../api/codec/json.ts';
import { groupOf } from '../../../api/kinds/identity.ts';
import type { Kind } from '../../../api/kinds/kind.ts';
import type { JsonObject } from '../../../api/meta/merge-patch.ts';
import type { AdmissionAttributes } from '../dynamic.ts';
import { versionOf } from '../matching/rules.ts';

const OPTIONS = { CREATE: 'CreateOptions', UPDATE: 'UpdateOptions', DELETE: 'DeleteOptions' } as const;

/**
 * The AdmissionRequest of a write, as JSON. `version` is the apiVersion that a rule of the webhook names where that is
 * another one than the request's: objects of custom kinds differ by it alone.
 */
export function admissionRequest(attributes: AdmissionAttributes, uid: string, version: string): JsonObject {
  const { operation, kind, form, subresource, namespace, name, object, previous, dryRun, manager } = attributes;
  const isSame = version === kind.apiVersion || form.apiVersion !== kind.apiVersion;
  const sentForm = isSame ? form : { ...form, apiVersion: version };
  const written = (each: object | undefined) => (each ? toJson(sentForm as Kind, each) : null);
  const options: JsonObject | null =
    operation === 'CONNECT'
      ? null
      : {
          apiVersion: 'meta.k8s.io/v1',
          kind: OPTIONS[operation],
          ...(dryRun && { dryRun: ['All'] }),
          ...(manager !== '' && operation !== 'DELETE' && { fieldManager: manager }),
        };
  return {
    uid,
    kind: kindOf(sentForm.apiVersion, sentForm.kind),
    resource: resourceOf(isSame ? kind.apiVersion : version, kind.plural),
    ...(subresource !== '' && { subResource: subresource }),
    requestKind: kindOf(form.apiVersion, form.kind),
    requestResource: resourceOf(kind.apiVersion, kind.plural),
    ...(subresource !== '' && { requestSubResource: subresource }),
    ...(name !== '' && { name }),
    ...(namespace !== '' && { namespace }),
    operation,
    userInfo: userInfo(attributes),
    object: written(object),
    oldObject: written(previous),
    dryRun,
    options,
  };
}

function userInfo({ call: { identity } }: AdmissionAttributes): JsonObject {
  const { user, uid, groups, extra } = identity;
  return {
    username: user,
    ...(uid !== undefined && { uid }),
    groups: [...groups],
    ...(extra && { extra: Object.fromEntries(Object.entries(extra).map(([key, values]) => [key, [...values]])) }),
  };
}

function kindOf(apiVersion: string, kind: string): JsonObject {
  return { group: groupOf(apiVersion), version: versionOf(apiVersion), kind };
}

function resourceOf(apiVersion: string, resource: string): JsonObject {
  return { group: groupOf(apiVersion), version: versionOf(apiVersion), resource };
}

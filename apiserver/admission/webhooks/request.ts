import { toJson } from '../../../api/codec/json.ts';
import { groupOf } from '../../../api/kinds/identity.ts';
import type { ApiObject, Kind } from '../../../api/kinds/kind.ts';
import type { JsonObject } from '../../../api/meta/merge-patch.ts';
import type { AdmissionAttributes } from '../dynamic.ts';
import type { SentForm } from './sent-form.ts';

const OPTIONS = { CREATE: 'CreateOptions', UPDATE: 'UpdateOptions', DELETE: 'DeleteOptions' } as const;

/**
 * The AdmissionRequest of a write, as JSON, with the objects as the webhook is sent them.
 */
export function admissionRequest(attributes: AdmissionAttributes, uid: string, sent: SentForm): JsonObject {
  const { operation, kind, form, subresource, namespace, name, object, previous, dryRun, manager } = attributes;
  const written = (each: ApiObject | undefined) => (each ? toJson(sent.form as Kind, sent.convert(each)) : null);
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
    kind: kindOf(sent.form.apiVersion, sent.form.kind),
    resource: resourceOf(sent.apiVersion, kind.plural),
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

export const versionOf = (apiVersion: string): string => apiVersion.slice(apiVersion.indexOf('/') + 1);

import { kindId } from '../../../api/kinds/index.ts';
import type { ApiObject, Conversion, Kind } from '../../../api/kinds/kind.ts';
import { olderVersionsOf } from '../../../api/kinds/versions.ts';
import type { AdmissionAttributes } from '../dynamic.ts';

/** How a kind becomes another version that it is served in; undefined where objects are the same in both. */
export function conversionTo(kind: Kind, apiVersion: string): { readonly older: Kind; readonly by: Conversion } | undefined {
  if (apiVersion === kind.apiVersion) return undefined;
  const older = olderVersionsOf(kindId(kind)).find((each) => each.apiVersion === apiVersion);
  return older?.conversion && { older, by: older.conversion };
}

/** A request as rules see it that name another version of its kind: with objects of that version. */
export function inVersion(attributes: AdmissionAttributes, apiVersion: string): AdmissionAttributes {
  const { kind, form, object, previous } = attributes;
  const found = conversionTo(kind, apiVersion);
  if (!found) return attributes;
  const { older, by } = found;
  // A subresource has a form of its own.
  if (form.kind !== kind.kind) return { ...attributes, kind: older };
  const shown = (each: ApiObject | undefined): ApiObject | undefined => each && by.fromStored(each);
  return { ...attributes, kind: older, form: older, object: shown(object), previous: shown(previous) };
}

import { isCustom } from '../../../api/kinds/custom/custom-kind.ts';
import type { ApiObject, Kind } from '../../../api/kinds/kind.ts';
import type { AdmissionAttributes, RequestForm } from '../dynamic.ts';

/** The version in which a webhook is sent the objects of a request: the one that its rule names. */
export interface SentForm {
  readonly form: RequestForm;
  /** Of the resource. */
  readonly apiVersion: string;
  convert(object: ApiObject): ApiObject;
  /** Throws INVALID_ARGUMENT. */
  restore(object: ApiObject): ApiObject;
}

const unchanged = (object: ApiObject): ApiObject => object;

/**
 * `version` is the kind in the version that the rule names. Objects of custom kinds differ by the name of the version
 * alone; what a subresource takes is of no version of its own.
 */
export function sentForm({ kind, form }: Pick<AdmissionAttributes, 'kind' | 'form'>, version: Kind): SentForm {
  const { apiVersion, conversion } = version;
  const same = { convert: unchanged, restore: unchanged };
  if (apiVersion === kind.apiVersion || form.apiVersion !== kind.apiVersion)
    return { form, apiVersion: kind.apiVersion, ...same };
  if (isCustom(kind) || !conversion) return { form: { ...form, apiVersion }, apiVersion, ...same };
  return { form: version, apiVersion, convert: conversion.fromStored, restore: conversion.toStored };
}

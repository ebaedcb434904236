import { FIELD_MANAGER_CONFLICT } from '../../../api/apply/conflicts.ts';
import type { ApiError, DeniedAccess, ErrorReason, FieldViolation } from '../../../api/errors/index.ts';
import { decodingText, patchingText } from './decoding-text.ts';

/** A resource as errors name it. */
export interface NamedResource {
  readonly group: string;
  readonly resource: string;
}

/** What a request was about, for errors that do not say so themselves. */
export interface StatusSubject {
  readonly group?: string;
  readonly resource?: string;
  readonly name?: string;
  /** The resource of a kind of Berth's own, by its name. */
  resourceOf?(kind: string): NamedResource | undefined;
}

/** What an error is about: its own subject, and the request's where it has none. */
export interface Subject extends NamedResource {
  readonly name: string;
  /** Empty: only the resource is known. */
  readonly kind: string;
}

export function subjectOf({ subject: own, parts }: ApiError, about: StatusSubject): Subject {
  const subject = (parts?.of === 'forbidden' && parts.subject) || own;
  const { kind = '', name } = subject;
  if (parts?.of === 'text') return { kind, group: subject.group ?? '', resource: subject.resource ?? '', name: name ?? '' };
  if (parts?.of === 'access') return { kind, group: parts.group, resource: parts.resource, name: parts.name };
  const { group, resource } = subject.resource === undefined ? (about.resourceOf?.(kind) ?? about) : subject;
  return { kind, group: group ?? '', resource: resource ?? '', name: name ?? about.name ?? '' };
}

/** "deployments.apps". */
export const qualified = ({ resource, group }: NamedResource): string => (group === '' ? resource : `${resource}.${group}`);

/** An error in Kubernetes' words, made of its parts; an error that has none keeps its own. */
export function statusText(error: ApiError, reason: ErrorReason, subject: Subject): string {
  const { parts, message } = error;
  const named = subject.name === '' ? qualified(subject) : `${qualified(subject)} ${JSON.stringify(subject.name)}`;
  switch (parts?.of) {
    case 'text':
      return parts.message;
    case 'access':
      return `${named} is forbidden: ${accessText(parts)}`;
    case 'path':
      return `forbidden: User ${JSON.stringify(parts.user)} cannot ${parts.verb} path ${JSON.stringify(parts.path)}`;
    case 'conflict':
      return `Operation cannot be fulfilled on ${named}: ${parts.why}`;
    case 'forbidden':
      return `${named} is forbidden: ${parts.why}`;
    case 'decoding':
      return decodingText(parts, error.violations);
    case 'patching':
      return patchingText(parts, error.violations);
    case undefined:
      return plainText(error, reason, { ...subject, named }) ?? message;
  }
}

function plainText(
  { message, violations }: ApiError,
  reason: ErrorReason,
  { named, kind, group, name, resource }: Subject & { readonly named: string },
): string | undefined {
  switch (reason) {
    case 'NotFound':
      return resource !== '' && name !== '' ? `${named} not found` : undefined;
    case 'AlreadyExists':
      return resource !== '' && name !== '' ? `${named} already exists` : undefined;
    case 'Forbidden':
      return resource === '' ? `forbidden: ${message}` : `${named} is forbidden: ${message}`;
    case 'Invalid':
      if (violations.length === 0) return undefined;
      return `${qualified({ resource: kind, group })} ${JSON.stringify(name)} is invalid: ${violationsText(violations)}`;
    case 'MethodNotAllowed':
      return 'the server does not allow this method on the requested resource';
    case 'Unauthorized':
      return 'Unauthorized';
    case 'InternalError':
      return `Internal error occurred: ${message}`;
    default:
      return undefined;
  }
}

function accessText({ user, verb, resource, subresource, group, namespace, why }: DeniedAccess): string {
  const what = subresource === '' ? resource : `${resource}/${subresource}`;
  const where = namespace === '' ? 'at the cluster scope' : `in the namespace ${JSON.stringify(namespace)}`;
  const text = `User ${JSON.stringify(user)} cannot ${verb} resource ${JSON.stringify(what)} in API group ${JSON.stringify(group)} ${where}`;
  return why === '' ? text : `${text}: ${why}`;
}

function violationsText(violations: readonly FieldViolation[]): string {
  const all = violations.map((each) => {
    const field = fieldText(each);
    return field === '' ? violationText(each) : `${field}: ${violationText(each)}`;
  });
  return all.length === 1 ? all[0]! : `[${[...new Set(all)].join(', ')}]`;
}

/** How Kubernetes begins the text of each kind of field error. */
const beginnings: Readonly<Record<string, string>> = {
  FieldValueRequired: 'Required value',
  FieldValueInvalid: 'Invalid value',
  FieldValueTypeInvalid: 'Invalid value',
  FieldValueNotSupported: 'Unsupported value',
  FieldValueDuplicate: 'Duplicate value',
  FieldValueForbidden: 'Forbidden',
  FieldValueTooLong: 'Too long',
  FieldValueTooMany: 'Too many',
  FieldValueNotFound: 'Not found',
};

/** What is wrong with a field, without its path. */
export function violationText({ reason, description, value, detail }: FieldViolation): string {
  const beginning = beginnings[reason];
  if (detail === undefined || beginning === undefined) return description;
  return [beginning, value, detail].filter((part) => part !== undefined && part !== '').join(': ');
}

/** The path of a field; an object as a whole has Kubernetes' word for no path. */
const fieldText = ({ reason, field }: FieldViolation): string => (field === '' && beginnings[reason] ? '<nil>' : field);

/** The path of a field; that of a conflict of managers begins with a point. */
export const causeField = (violation: FieldViolation): string => {
  const { reason, field } = violation;
  return reason === FIELD_MANAGER_CONFLICT && field !== '' ? `.${field}` : fieldText(violation);
};

import { badRequest } from '../../api/errors/index.ts';
import { invalidValue, shortened } from '../../api/errors/violations.ts';
import { keyPrefixOf } from '../../api/kinds/identity.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import { type FieldMatcher, parseFieldSelector } from '../../api/meta/fields.ts';
import { parseLabelSelector } from '../../api/meta/labels.ts';
import { type Entry, labelsOf } from './entry.ts';
import type { CacheEvent } from './event-ring.ts';
import type { KindCache } from './kind-cache.ts';

export interface SelectionRequest {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
}

/**
 * The objects of a kind that a request selects. Two equal requests have equal ids, so that they share what is encoded
 * for them.
 */
export interface Selection {
  readonly id: string;
  /** The prefix of the keys. */
  readonly prefix: string;
  /** Whether the prefix says all. */
  readonly everything: boolean;
  /** A field that must have one value, e.g. spec.nodeName: see TouchIndex. */
  readonly pinned?: { readonly field: string; readonly value: string } | undefined;
  /** The selectors only; the caller has checked the prefix. */
  matches(entry: Entry): boolean;
}

/**
 * Compiles the selectors of a request. Throws INVALID_ARGUMENT for selectors with syntax errors or unknown fields.
 */
export function compileSelection(cache: KindCache, request: SelectionRequest): Selection {
  const { kind, decoder } = cache;
  const namespace = request.namespace ?? '';
  if (namespace && !kind.namespaced) throw badRequest(`${kind.plural} do not live in namespaces: leave the namespace empty`);
  const labels = request.labelSelector ? parseLabelSelector(request.labelSelector) : undefined;
  const fields = request.fieldSelector ? parseFieldSelector(request.fieldSelector) : undefined;
  if (fields) checkFields(kind, fields);
  return {
    id: `${namespace}\0${request.labelSelector ?? ''}\0${request.fieldSelector ?? ''}`,
    prefix: namespace ? `${keyPrefixOf(kind)}${namespace}/` : keyPrefixOf(kind),
    everything: !labels && !fields,
    pinned: fields?.requirements.find(({ field, operator }) => operator === '=' && field in kind.selectableFields),
    matches(entry) {
      if (labels && !labels.matches(labelsOf(entry))) return false;
      if (!fields) return true;
      const values = decoder.fields(entry);
      return fields.matches((path) => values[path] ?? '');
    },
  };
}

/** By which every kind can be selected. */
const COMMON = ['metadata.name', 'metadata.namespace'];

function checkFields(kind: Kind, fields: FieldMatcher): void {
  const known = [...COMMON, ...Object.keys(kind.selectableFields)];
  for (const { field } of fields.requirements) {
    if (known.includes(field)) continue;
    const why = `${kind.plural} cannot be selected by "${field}": use ${known.join(', ')}`;
    const label = shortened(field);
    const said =
      known.length > COMMON.length ? `field label not supported: ${label}` : `"${label}" is not a known field selector`;
    throw badRequest(`${said}: ${why}`, [invalidValue('fieldSelector', field, why)]);
  }
}

/**
 * What a watcher with this selection sees of an event: coming into it is ADDED, leaving it is DELETED, undefined is
 * nothing.
 */
export function visibleType(selection: Selection, event: CacheEvent): CacheEvent['type'] | undefined {
  if (!event.entry.key.startsWith(selection.prefix)) return undefined;
  if (selection.everything) return event.type;
  const before = event.previous ? selection.matches(event.previous) : event.type === 'DELETED' && selection.matches(event.entry);
  const after = event.type !== 'DELETED' && selection.matches(event.entry);
  if (after) return before ? 'MODIFIED' : 'ADDED';
  return before ? 'DELETED' : undefined;
}

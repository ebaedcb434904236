import { badRequest, invalid } from '../../../api/errors/index.ts';
import { forbidden, notSupported } from '../../../api/errors/violations.ts';
import type { ListOptions } from '../../../api/generated/types.ts';
import { parseFieldSelector } from '../../../api/meta/fields.ts';
import { listOptionsOf } from './read-query.ts';

const SUBJECT = { kind: 'ListOptions', group: 'meta.k8s.io', resource: 'listoptions', name: '' };
const NOT_OLDER = 'NotOlderThan';
const matches: readonly string[] = ['Exact', NOT_OLDER];
const MATCH = 'resourceVersionMatch';

/** The options of a list. Throws BAD_REQUEST, and INVALID where they contradict each other, as Kubernetes has it. */
export function checkedListOptions(query: URLSearchParams): ListOptions {
  const options = listOptionsOf(query);
  const { resourceVersion, resourceVersionMatch: match, sendInitialEvents } = options;
  const violations = match
    ? [
        ...(resourceVersion ? [] : [forbidden(MATCH, `${MATCH} is forbidden unless resourceVersion is provided`)]),
        ...(options.continue ? [forbidden(MATCH, `${MATCH} is forbidden when continue is provided`)] : []),
        ...(matches.includes(match) ? [] : [notSupported(MATCH, match, matches)]),
        ...(match === 'Exact' && resourceVersion === '0'
          ? [forbidden(MATCH, `${MATCH} "exact" is forbidden for resourceVersion "0"`)]
          : []),
      ]
    : [];
  if (sendInitialEvents !== undefined) violations.push(forbidden('sendInitialEvents', 'sendInitialEvents is forbidden for list'));
  if (violations.length > 0) throw invalid(SUBJECT, violations);
  return options;
}

/**
 * The same of a watch, of one object where a name is given. What belongs to pages is nothing to a watch: Kubernetes'
 * clients may send it.
 */
export function watchOptionsOf(query: URLSearchParams, name: string): ListOptions {
  const { limit: _, continue: token, ...options } = listOptionsOf(query);
  const { resourceVersionMatch: match, sendInitialEvents } = options;
  const violations = [];
  if (sendInitialEvents !== undefined && !match)
    violations.push(forbidden(MATCH, `sendInitialEvents requires setting ${MATCH} to ${NOT_OLDER}`));
  if (match) {
    if (sendInitialEvents === undefined)
      violations.push(forbidden(MATCH, `${MATCH} is forbidden for watch unless sendInitialEvents is provided`));
    if (match !== NOT_OLDER) violations.push(notSupported(MATCH, match, [NOT_OLDER]));
    if (token) violations.push(forbidden(MATCH, `${MATCH} is forbidden when continue is provided`));
  }
  if (violations.length > 0) throw invalid(SUBJECT, violations);
  return name === '' ? options : { ...options, fieldSelector: selectorOf(name, options.fieldSelector) };
}

/** A selector besides the name has to mean the same object. */
function selectorOf(name: string, given: string | undefined): string {
  const named = `metadata.name=${name.replace(/[\\,=]/g, (character) => `\\${character}`)}`;
  if (!given) return named;
  const isNamed = parseFieldSelector(given).requirements.some(
    ({ field, operator, value }) => field === 'metadata.name' && operator === '=' && value === name,
  );
  if (!isNamed) throw badRequest("fieldSelector metadata.name doesn't match requested name");
  return given;
}

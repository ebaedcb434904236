import type { ApiObject } from '../../api/kinds/kind.ts';
import type { Scope } from '../../client/services/resource-client.ts';

function field(object: unknown, path: string): string {
  let at: unknown = object;
  for (const part of path.split('.')) at = (at as Record<string, unknown> | undefined)?.[part];
  return at === undefined ? '' : String(at);
}

/** "a=b,c!=d" over what `read` gives; enough for fakes, the server knows the whole grammar. */
function matchesTerms(selector: string | undefined, read: (name: string) => string): boolean {
  return (selector ?? '')
    .split(',')
    .filter((term) => term !== '')
    .every((term) => {
      const [name, value] = term.split(/!?==?/) as [string, string];
      return term.includes('!=') ? read(name) !== value : read(name) === value;
    });
}

export function matchesScope(object: ApiObject, scope: Scope): boolean {
  if (scope.namespace && object.metadata?.namespace !== scope.namespace) return false;
  if (!matchesTerms(scope.fieldSelector, (path) => field(object, path))) return false;
  return matchesTerms(scope.labelSelector, (label) => object.metadata?.labels?.[label] ?? '');
}

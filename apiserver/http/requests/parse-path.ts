import { badRequest } from '../../../api/errors/index.ts';
import { placeOfAction } from '../../verbs/actions/action.ts';
import { actionsOf } from '../../verbs/actions/index.ts';
import { noSuchResource } from '../errors/no-such-resource.ts';

/** What the path of a request names: a resource, or something that is none ("/version"). */
export type RequestPath =
  | { readonly of: 'resource'; readonly target: ResourcePath }
  | { readonly of: 'path'; readonly path: string };

export interface ResourcePath {
  /** "" is the core group. */
  readonly group: string;
  readonly version: string;
  /** "": of no namespace, or of all. */
  readonly namespace: string;
  /** The plural: "pods". */
  readonly resource: string;
  /** "": the collection. */
  readonly name: string;
  readonly subresource: string;
  /** What stands behind the subresource, as in /proxy/index.html; without the slash. */
  readonly rest: string;
  /** Whether the path itself asks for a watch, as those of old clients do: /api/v1/watch/pods. */
  readonly isWatch?: true;
}

/** The subresources of a namespace: anything else behind its name is a resource in it. */
const ofNamespaces: ReadonlySet<string> = new Set([
  'status',
  ...actionsOf('Namespace').map((action) => placeOfAction(action).subresource),
]);

/**
 * Reads the path of a request as Kubernetes' API has it: /api/v1/namespaces/N/pods/P/log, /apis/G/V/R. Throws
 * BAD_REQUEST for one that is not percent-encoded well, NOT_FOUND for one with empty parts.
 */
export function parsePath(pathname: string): RequestPath {
  const parts = pathname.split('/').slice(1).map(decode);
  const isCore = parts[0] === 'api';
  const prefix = isCore ? 2 : 3;
  if ((!isCore && parts[0] !== 'apis') || parts.length <= prefix || parts[prefix] === '') return { of: 'path', path: pathname };
  const group = isCore ? '' : parts[1]!;
  const version = parts[prefix - 1]!;
  const isWatch = parts[prefix] === 'watch' && parts.length > prefix + 1;
  const words = parts.slice(isWatch ? prefix + 1 : prefix);
  const isInNamespace = words[0] === 'namespaces' && words.length > 2 && !(words.length === 3 && ofNamespaces.has(words[2]!));
  const namespace = isInNamespace ? words[1]! : '';
  const [resource = '', name = '', subresource = '', ...rest] = isInNamespace ? words.slice(2) : words;
  if (resource === '' || (isInNamespace && namespace === '') || (name === '' && subresource !== ''))
    throw noSuchResource(`the path "${pathname}"`);
  const target = { group, version, namespace, resource, name, subresource, rest: rest.join('/') };
  return { of: 'resource', target: isWatch ? { ...target, isWatch } : target };
}

function decode(part: string): string {
  if (!part.includes('%')) return part;
  try {
    return decodeURIComponent(part);
  } catch {
    throw badRequest(`the path holds "${part}", which is not percent-encoded well`);
  }
}

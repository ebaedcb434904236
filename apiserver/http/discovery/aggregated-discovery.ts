import type { Resource } from '../subresources.ts';
import type { ServedGroups } from './discovery.ts';

/** The versions of APIGroupDiscoveryList: the same to the letter but for their names. */
export const aggregatedVersions: readonly string[] = ['v2', 'v2beta1'];

/** The content type of the list in a version. */
export const aggregatedType = (version: string): string =>
  `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;

/**
 * The version of the list that a client wants, by its Accept; undefined for one that wants the lists of before. The
 * first of these that is named is meant.
 */
export function wantedAggregation(accept: string | undefined): string | undefined {
  for (const text of (accept ?? '').split(',', 32)) {
    const [type = '', ...parameters] = text.split(';').map((part) => part.trim());
    if (type !== 'application/json' && type !== 'application/*' && type !== '*/*') continue;
    const given = new Map(parameters.map((each) => each.split('=', 2) as [string, string]));
    if (given.get('as') === undefined) return undefined;
    const version = given.get('v') ?? '';
    const isList = given.get('g') === 'apidiscovery.k8s.io' && given.get('as') === 'APIGroupDiscoveryList';
    if (isList && aggregatedVersions.includes(version)) return version;
  }
  return undefined;
}

export interface AggregatedForm {
  readonly version: string;
  /** Whether what is told of a version may be old. */
  isStale(group: string, version: string): boolean;
}

/** What /api (the core group alone) or /apis (all others) answers. */
export function aggregatedList(served: ServedGroups, of: 'core' | 'groups', { version, isStale }: AggregatedForm): object {
  const groups = [...served].filter(([group]) => (group === '') === (of === 'core'));
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: `apidiscovery.k8s.io/${version}`,
    metadata: {},
    items: groups.map(([group, versions]) => ({
      metadata: group === '' ? { creationTimestamp: null } : { name: group, creationTimestamp: null },
      versions: [...versions].map(([name, resources]) => ({
        version: name,
        resources: nestedResources({ group, version: name }, resources),
        freshness: isStale(group, name) ? 'Stale' : 'Current',
      })),
    })),
  };
}

interface GroupVersion {
  readonly group: string;
  readonly version: string;
}

interface Nested {
  readonly resource: string;
  readonly subresources?: readonly object[];
}

/** Resources with their subresources below them. One whose resource is missing stands below a resource that says so. */
function nestedResources(of: GroupVersion, resources: readonly Resource[]): object[] {
  const nested = new Map<string, Nested>();
  for (const resource of resources) {
    const [name = '', subresource] = resource.name.split('/');
    const responseKind = { group: resource.group ?? of.group, version: resource.version ?? of.version, kind: resource.kind };
    const scope = resource.namespaced ? 'Namespaced' : 'Cluster';
    const { singularName: singularResource, verbs, shortNames, categories } = resource;
    if (subresource === undefined)
      nested.set(name, named({ resource: name, responseKind, scope, singularResource, verbs, shortNames, categories }));
    else {
      const alone = { resource: name, scope, singularResource: '', verbs: [] };
      const above: Nested = nested.get(name) ?? alone;
      const below = [...(above.subresources ?? []), { subresource, responseKind, verbs }];
      nested.set(name, { ...above, subresources: below });
    }
  }
  return [...nested.values()];
}

/** JSON leaves out what is undefined. */
const named = <T extends Nested>(resource: T): Nested => resource;

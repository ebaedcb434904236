import { groupOf } from '../../api/kinds/identity.ts';
import { kindId } from '../../api/kinds/index.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import { type Action, placeOfAction } from '../verbs/actions/action.ts';
import { actionsOf } from '../verbs/actions/index.ts';

/** A resource, or a subresource of one ("deployments/scale"), as APIResource has it. */
export interface Resource {
  readonly name: string;
  readonly singularName: string;
  readonly namespaced: boolean;
  /** Group and version of its kind, where these are others than those that it is served in. */
  readonly group?: string;
  readonly version?: string;
  readonly kind: string;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly storageVersionHash?: string;
}

export const standardVerbs: readonly string[] = [
  'create',
  'delete',
  'deletecollection',
  'get',
  'list',
  'patch',
  'update',
  'watch',
];
const parts = ['get', 'patch', 'update'];
const streams = ['create', 'get'];
const proxied = ['create', 'delete', 'get', 'patch', 'update'];

type Special = Pick<Resource, 'name' | 'group' | 'version' | 'kind' | 'verbs'>;

/** Subresources of the core group that are no part of the object and no action. */
const special: Readonly<Record<string, readonly Special[]>> = {
  nodes: [{ name: 'proxy', kind: 'NodeProxyOptions', verbs: proxied }],
  pods: [
    { name: 'attach', kind: 'PodAttachOptions', verbs: streams },
    { name: 'exec', kind: 'PodExecOptions', verbs: streams },
    { name: 'log', kind: 'Pod', verbs: ['get'] },
    { name: 'portforward', kind: 'PodPortForwardOptions', verbs: streams },
    { name: 'proxy', kind: 'PodProxyOptions', verbs: proxied },
  ],
  services: [{ name: 'proxy', kind: 'ServiceProxyOptions', verbs: proxied }],
};

/** An action as a subresource; the version of its body is told where it is not the kind's. */
function specialOf(action: Action, { apiVersion }: Kind): Special {
  const { verb, subresource: name } = placeOfAction(action);
  const [sent = ''] = action.body.apiVersions;
  const version = sent.slice(sent.indexOf('/') + 1);
  return { name, ...(sent !== apiVersion && { group: groupOf(sent), version }), kind: action.body.kind, verbs: [verb] };
}

/** The subresources of a kind, as discovery tells of them. */
export function partsOfKind(kind: Kind): Resource[] {
  const { plural, namespaced, hasStatus, scale, subresources = {} } = kind;
  const part = (name: string, more: Partial<Resource> = {}): Resource => ({
    ...{ name: `${plural}/${name}`, singularName: '', namespaced, kind: kind.kind, verbs: parts },
    ...more,
  });
  const own = groupOf(kind.apiVersion) === '' ? (special[plural] ?? []) : [];
  return [
    ...(hasStatus ? [part('status')] : []),
    ...(scale ? [part('scale', { group: 'autoscaling', version: 'v1', kind: 'Scale' })] : []),
    ...Object.keys(subresources).map((name) => part(name)),
    ...[...own, ...actionsOf(kindId(kind)).map((action) => specialOf(action, kind))].map(({ name, ...more }) => part(name, more)),
  ];
}

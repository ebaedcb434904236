import type { APIService, APIServiceSpec } from '../../api/generated/types.ts';
import { apiServiceName, automanagedLabel, availableOf, managed } from '../../api/kinds/api-service/meaning.ts';
import { isCustom } from '../../api/kinds/custom/custom-kind.ts';
import { groupOf } from '../../api/kinds/identity.ts';
import { equalValues } from '../../api/meta/equal.ts';
import { type ServedStores, servedKinds } from '../http/discovery/discovery.ts';
import { virtualResources } from '../http/discovery/virtual-resources.ts';

/** An APIService that the server keeps, and who has the group: the program, or custom kinds. */
export interface LocalService {
  readonly spec: APIServiceSpec;
  readonly managed: (typeof managed)[keyof typeof managed];
}

/** Which is no group of its own objects: as in Kubernetes it has none. */
const ownGroup = 'apiregistration.k8s.io';

/** Kubernetes' numbers; of groups that are Berth's alone, and of metrics, as metrics-server has it. */
const groupPriorities: Readonly<Record<string, number>> = {
  '': 18_000,
  apps: 17_800,
  'events.k8s.io': 17_750,
  'authentication.k8s.io': 17_700,
  'authorization.k8s.io': 17_600,
  autoscaling: 17_500,
  batch: 17_400,
  'certificates.k8s.io': 17_300,
  'networking.k8s.io': 17_200,
  policy: 17_100,
  'rbac.authorization.k8s.io': 17_000,
  'storage.k8s.io': 16_800,
  'apiextensions.k8s.io': 16_700,
  'admissionregistration.k8s.io': 16_700,
  'scheduling.k8s.io': 16_600,
  'coordination.k8s.io': 16_500,
  'node.k8s.io': 16_300,
  'discovery.k8s.io': 16_200,
  'flowcontrol.apiserver.k8s.io': 16_100,
  'metrics.k8s.io': 100,
};
const otherPriority = 15_000;
const customPriorities = { groupPriorityMinimum: 1_000, versionPriority: 100 } as const;

/** The higher, the better the version is: as in Kubernetes 15 for v1, 30 for v2, 9 for betas. */
function versionPriority(group: string, version: string): number {
  if (group === '') return 1;
  if (group === 'metrics.k8s.io') return 100;
  const [, major = '1', level] = /^v(\d+)(?:(alpha|beta)\d+)?$/.exec(version) ?? [];
  return level === 'alpha' ? 1 : level === 'beta' ? 9 : 15 * Number(major);
}

/** Where a group and a version stand in discovery. */
export const priorityOfGroup = (group: string): number =>
  group === ownGroup ? groupPriorities['']! : (groupPriorities[group] ?? customPriorities.groupPriorityMinimum);
export const priorityOfVersion = (group: string, version: string): number =>
  Object.hasOwn(groupPriorities, group) ? versionPriority(group, version) : customPriorities.versionPriority;

/** The groups that the program serves in their versions, by the names of their objects. */
export function programServices(stores: ServedStores): ReadonlyMap<string, LocalService> {
  const own = [...servedKinds(stores)].filter((kind) => !isCustom(kind)).map(({ apiVersion }) => apiVersion);
  const found = new Map<string, LocalService>();
  for (const apiVersion of new Set([...own, ...virtualResources.map((each) => each.apiVersion)])) {
    const group = groupOf(apiVersion);
    if (group === ownGroup) continue;
    const version = apiVersion.slice(apiVersion.indexOf('/') + 1);
    const priorities = {
      groupPriorityMinimum: groupPriorities[group] ?? otherPriority,
      versionPriority: versionPriority(group, version),
    };
    found.set(apiServiceName(group, version), { managed: managed.program, spec: { group, version, ...priorities } });
  }
  return found;
}

/** The object of a version of custom kinds. */
export const customService = (group: string, version: string): LocalService => ({
  managed: managed.customKinds,
  spec: { group, version, ...customPriorities },
});

/**
 * What is to be done with the object of a group. Pure. Kubernetes' rules, but that the objects of the program's own
 * groups are always restored: an object without the label is its user's, also where custom kinds have the group; one
 * with the label of a group that is not served goes, with the program's only at the start.
 */
export function decideLocal(
  stored: APIService | undefined,
  wanted: LocalService | undefined,
  isStart: boolean,
): 'nothing' | 'create' | 'restore' | 'remove' {
  if (stored === undefined) return wanted === undefined ? 'nothing' : 'create';
  const label = stored.metadata?.labels?.[automanagedLabel];
  if (wanted === undefined) return label === managed.customKinds || (label === managed.program && isStart) ? 'remove' : 'nothing';
  if (wanted.managed === managed.customKinds && label === undefined) return 'nothing';
  return label === wanted.managed && equalValues(stored.spec, wanted.spec) ? 'nothing' : 'restore';
}

/** Whether an object says that the server serves the group, and its status does not. Pure. */
export function lacksLocalStatus(stored: APIService): boolean {
  if (stored.spec?.service) return false;
  const { status, reason } = availableOf(stored) ?? {};
  return status !== 'True' || reason !== 'Local';
}

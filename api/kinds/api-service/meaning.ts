import type { APIService, APIServiceCondition, Timestamp } from '../../generated/types.ts';

/** The label of the objects that the server keeps itself, with how: `managed`. */
export const automanagedLabel = 'kube-aggregator.kubernetes.io/automanaged';

/** Kubernetes' words: groups that the program has are "onstart", those of custom kinds "true". */
export const managed = { program: 'onstart', customKinds: 'true' } as const;

/** The name of the object of a version of a group: "v1.apps", of the core group "v1.". */
export const apiServiceName = (group: string, version: string): string => `${version}.${group}`;

export const availableOf = ({ status }: APIService): APIServiceCondition | undefined =>
  status?.conditions?.find(({ type }) => type === 'Available');

/** What is said of a group that the server serves itself. */
export const localCondition = (lastTransitionTime: Timestamp | undefined): APIServiceCondition => ({
  ...{ type: 'Available', status: 'True', reason: 'Local', message: 'Local APIServices are always available' },
  ...(lastTransitionTime && { lastTransitionTime }),
});

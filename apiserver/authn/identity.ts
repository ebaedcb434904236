/** The authenticated caller. */
export interface Identity {
  readonly user: string;
  readonly groups: readonly string[];
  /** Of service accounts: tells those apart that had the name one after the other. */
  readonly uid?: string | undefined;
  /** What else the token says, by Kubernetes' names: the pod that it is bound to. Nothing is allowed because of it. */
  readonly extra?: Readonly<Record<string, readonly string[]>> | undefined;
}

export const groups = {
  masters: 'system:masters',
  nodes: 'system:nodes',
  /** All authenticated users. */
  authenticated: 'system:authenticated',
  serviceAccounts: 'system:serviceaccounts',
  /** Programs that read health and metrics. */
  monitoring: 'system:monitoring',
  /** Bearers of a bootstrap token. */
  bootstrappers: 'system:bootstrappers',
} as const;

/** The certificates' names of what runs the cluster. */
export const controlPlane = { scheduler: 'system:kube-scheduler', controllers: 'system:kube-controller-manager' } as const;

const NODE_PREFIX = 'system:node:';
const SERVICE_ACCOUNT_PREFIX = 'system:serviceaccount:';

/** The node that this identity is, when it is one. */
export function nodeNameOf(identity: Identity): string | undefined {
  return identity.user.startsWith(NODE_PREFIX) && identity.groups.includes(groups.nodes)
    ? identity.user.slice(NODE_PREFIX.length)
    : undefined;
}

export function nodeUser(nodeName: string): string {
  return `${NODE_PREFIX}${nodeName}`;
}

export function isNode({ groups: own }: Identity): boolean {
  return own.includes(groups.nodes);
}

export function serviceAccountUser(namespace: string, name: string): string {
  return `${SERVICE_ACCOUNT_PREFIX}${namespace}:${name}`;
}

/** The service account of an identity, when it is one. */
export function serviceAccountOf(user: string): { readonly namespace: string; readonly name: string } | undefined {
  if (!user.startsWith(SERVICE_ACCOUNT_PREFIX)) return undefined;
  const [namespace = '', name = '', ...more] = user.slice(SERVICE_ACCOUNT_PREFIX.length).split(':');
  return namespace !== '' && name !== '' && more.length === 0 ? { namespace, name } : undefined;
}

/** All authenticated users belong to this group. */
export function known(identity: Identity): Identity {
  const { groups: own } = identity;
  return own.includes(groups.authenticated) ? identity : { ...identity, groups: [...own, groups.authenticated] };
}

export function isMaster(identity: Identity): boolean {
  return identity.groups.includes(groups.masters);
}

/** Whether this is the scheduler or the controllers. */
export function isControlPlane(user: string): boolean {
  return user === controlPlane.scheduler || user === controlPlane.controllers;
}

/** The user of a bootstrap token. */
export function bootstrapUser(tokenId: string): string {
  return `system:bootstrap:${tokenId}`;
}

export function isBootstrapper(identity: Identity): boolean {
  return identity.groups.includes(groups.bootstrappers);
}

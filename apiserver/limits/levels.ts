import { groups, type Identity, isControlPlane, isMaster, isNode, serviceAccountOf } from '../authn/identity.ts';

/** What a level may hold of the server, as parts of the bounds that flags and defaults give. */
interface LevelShares {
  /** Of unary calls at once, and of open streams. */
  readonly calls: number;
  /** Of the bytes of answers that are not taken yet. */
  readonly answers: number;
  /** Of the bytes of lists that are made or on their way. */
  readonly lists: number;
}

/**
 * Priority levels, as in Kubernetes' API Priority and Fairness. Each level has its own share of every bounded resource,
 * so one level cannot exhaust another's. A caller belongs to the first level that matches. The limits on calls and
 * streams apply to each level in full, because waiting calls are cheap; byte limits are divided among the levels.
 */
const table = {
  /** Administrators, the scheduler and the controllers. */
  control: {
    matches: (identity: Identity) => isMaster(identity) || isControlPlane(identity.user),
    shares: { calls: 1, answers: 1 / 4, lists: 3 / 8 },
  },
  /** Nodes, and what runs in kube-system. */
  system: {
    matches: (identity: Identity) => isNode(identity) || serviceAccountOf(identity.user)?.namespace === SYSTEM_NAMESPACE,
    shares: { calls: 1, answers: 1 / 4, lists: 1 / 4 },
  },
  /** All other users. */
  tenants: { matches: () => true, shares: { calls: 1, answers: 1 / 2, lists: 3 / 8 } },
} satisfies Record<string, { readonly matches: (identity: Identity) => boolean; readonly shares: LevelShares }>;

const SYSTEM_NAMESPACE = 'kube-system';

export type Level = keyof typeof table;
export const levels = Object.keys(table) as readonly Level[];

/** What is shared out equally within a level: the calls of one real caller. */
export interface Flow {
  readonly level: Level;
  readonly key: string;
  /** As refusals name it. */
  readonly name: string;
  /** The scheduler and the controllers work for all and bound themselves: they are counted, never refused. */
  readonly isExempt: boolean;
}

const flows = new WeakMap<Identity, Flow>();

/**
 * The flow of a caller, which is the one that authenticated also when it impersonates another. The service accounts of
 * a namespace are one flow: a user with the role `edit` makes as many accounts and tokens there as it likes.
 */
export function flowOf(identity: Identity): Flow {
  const known = flows.get(identity);
  if (known) return known;
  const namespace = serviceAccountOf(identity.user)?.namespace;
  const flow = {
    level: levels.find((level) => table[level].matches(identity))!,
    key: namespace === undefined ? identity.user : `${groups.serviceAccounts}:${namespace}`,
    name: namespace === undefined ? `user "${identity.user}"` : `namespace "${namespace}" (all its service accounts)`,
    isExempt: isControlPlane(identity.user),
  };
  flows.set(identity, flow);
  return flow;
}

/** One of something for each level. */
export function perLevel<T>(make: (shares: LevelShares, level: Level) => T): Readonly<Record<Level, T>> {
  return Object.fromEntries(levels.map((level) => [level, make(table[level].shares, level)])) as Record<Level, T>;
}

import type { PolicyRule } from '../../api/generated/types.ts';
import type { Identity } from '../../apiserver/authn/identity.ts';
import type { Access } from '../../apiserver/authz/attributes.ts';
import { createRoleWorld, rule } from '../../test/fakes/role-world.ts';
import { atMost, type Figure, note } from '../figure.ts';
import { type Parts, runParts } from '../parts.ts';

const ROLES = 1_000;
const BINDINGS = 2_000;
const USERS = 200;
const NAMESPACES = 50;
/** Issue 7's bound for one request, in microseconds. */
const BOUND_US = 20;

const resources = [
  'pods',
  'pods/log',
  'configmaps',
  'secrets',
  'events',
  'persistentvolumeclaims',
  'serviceaccounts',
  'pods/exec',
];
const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'];

/** What roles of people look like: a few rules about a few resources, some about names. */
function rulesOf(index: number): PolicyRule[] {
  return [0, 1, 2].map((part) => {
    const at = index * 3 + part;
    const some = <T>(list: readonly T[], count: number): T[] =>
      Array.from({ length: count }, (_, i) => list[(at + i) % list.length]!);
    const names = at % 10 === 0 ? { resourceNames: [`name-${at}`] } : {};
    return rule(`${some(verbs, 3).join(',')} ${some(resources, 2).join(',')}`, names);
  });
}

/** Each user has ten bindings, most of them in namespaces. */
function createWorld() {
  const world = createRoleWorld();
  for (let i = 0; i < ROLES; i++) world.clusterRole(`role-${i}`, ...rulesOf(i));
  const roleRef = (i: number) => ({ apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: `role-${i % ROLES}` });
  for (let i = 0; i < BINDINGS; i++) {
    const metadata = { name: `b-${i}`, namespace: `ns-${i % NAMESPACES}` };
    const subjects = [{ kind: 'User', name: `user-${i % USERS}` }];
    if (i % 4 === 0) world.put('ClusterRoleBinding', { metadata: { name: `b-${i}` }, roleRef: roleRef(i), subjects } as never);
    else world.put('RoleBinding', { metadata, roleRef: roleRef(i), subjects } as never);
  }
  world.authorizer.observe();
  return world;
}

const identities: readonly Identity[] = Array.from({ length: USERS }, (_, i) => ({
  user: `user-${i}`,
  groups: ['system:authenticated', `team-${i % 20}`],
}));

function questions(count: number): { readonly who: Identity; readonly what: Access }[] {
  const kinds = ['Pod', 'ConfigMap', 'Secret', 'Event', 'PersistentVolumeClaim'];
  const words = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'logs', 'exec'] as const;
  let state = 1;
  const next = (below: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((state / 2 ** 31) * below);
  };
  return Array.from({ length: count }, () => ({
    who: identities[next(USERS)]!,
    what: {
      verb: words[next(words.length)]!,
      kind: kinds[next(kinds.length)]!,
      namespace: `ns-${next(NAMESPACES)}`,
      name: `name-${next(100)}`,
    },
  }));
}

function measure(name: string, count: number, run: (index: number) => void): Figure {
  const beganAt = performance.now();
  for (let i = 0; i < count; i++) run(i);
  return atMost(name, ((performance.now() - beganAt) * 1_000) / count, 'us', BOUND_US);
}

/** Any user, any question: the first time, and when it was asked before. */
async function steady(): Promise<Figure[]> {
  const { authorizer } = createWorld();
  const asked = questions(100_000);
  const ask = (i: number): void => void authorizer.may(asked[i]!.who, asked[i]!.what);
  const allowed = asked.filter(({ who, what }) => authorizer.may(who, what)).length;
  const fresh = createWorld();
  return [
    measure('a request, each for the first time', asked.length, (i) => void fresh.authorizer.may(asked[i]!.who, asked[i]!.what)),
    measure('a request that was made before', asked.length, ask),
    note('share of requests that are allowed', (allowed / asked.length) * 100, '%'),
  ];
}

/** While roles change: one change for every 100 requests, after which nothing that was worked out counts. */
async function changing(): Promise<Figure[]> {
  const { authorizer, clusterRole } = createWorld();
  const asked = questions(50_000);
  let changes = 0;
  return [
    measure('a request while roles change, one for every 100 requests', asked.length, (i) => {
      if (i % 100 === 0) clusterRole(`role-${changes % ROLES}`, ...rulesOf(changes++));
      authorizer.may(asked[i]!.who, asked[i]!.what);
    }),
  ];
}

const parts: Parts = { name: 'auth', parts: { steady, changing } };

/** What it costs to find out who may do what. */
export function benchAuth(say: (text: string) => void, words: readonly string[]): Promise<Figure[]> {
  return runParts(parts, say, words);
}

/** What a handler says that its call wants to do, in the words of the API's methods. */
export interface Access {
  readonly verb: AccessVerb;
  /**
   * The kind's id ("Pod", "Toy.toys.example.com"; see `kindId`), or the name of something that is no kind ("Backup").
   */
  readonly kind: string;
  /** Where a version of another group is asked for than the kind is of: roles for that group decide. */
  readonly group?: string | undefined;
  readonly namespace: string;
  /** Empty: no single object, or a name that is not generated yet. */
  readonly name: string;
  /** Of a list or watch: the fields that all its objects have, by path. */
  readonly selected?: Readonly<Record<string, string>> | undefined;
  /** Of a resource that another server keeps, which no kind stands for: the access in the words of roles. */
  readonly attributes?: Attributes;
}

/** What roles speak of: a verb on a resource. */
export interface Attributes {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly selected?: Readonly<Record<string, string>> | undefined;
}

interface Meaning {
  readonly verb: string;
  readonly subresource?: string;
}

/**
 * Each word of ours as Kubernetes' verb and subresource, so that a role for one means the same in the other. Words that
 * are not listed say it themselves: "create-eviction".
 */
const meanings = {
  get: { verb: 'get' },
  list: { verb: 'list' },
  watch: { verb: 'watch' },
  create: { verb: 'create' },
  update: { verb: 'update' },
  patch: { verb: 'patch' },
  delete: { verb: 'delete' },
  'delete-collection': { verb: 'deletecollection' },
  logs: { verb: 'get', subresource: 'log' },
  exec: { verb: 'create', subresource: 'exec' },
  attach: { verb: 'create', subresource: 'attach' },
  'port-forward': { verb: 'create', subresource: 'portforward' },
  // Permission to exec in a container includes its files.
  'read-files': { verb: 'create', subresource: 'exec' },
  'write-files': { verb: 'create', subresource: 'exec' },
  escalate: { verb: 'escalate' },
  impersonate: { verb: 'impersonate' },
  approve: { verb: 'approve' },
  'bind-role': { verb: 'bind' },
} satisfies Record<string, Meaning>;

export type AccessVerb =
  | keyof typeof meanings
  | `${'create' | 'delete' | 'get' | 'options'}-${string}`
  | `impersonate-${string}`
  | `update-${string}`
  | `patch-${string}`;

/** Where a kind stands among the resources. */
export interface ResourceName {
  readonly group: string;
  readonly resource: string;
}

/** The resources that are no kinds: what the server does besides keeping objects. */
export const extraResources = {
  Certificate: { group: 'berth.io', resource: 'certificates' },
  Backup: { group: 'berth.io', resource: 'backups' },
  LogLevel: { group: 'berth.io', resource: 'loglevels' },
  SecretKey: { group: 'berth.io', resource: 'secretkeys' },
  Placement: { group: 'berth.io', resource: 'placements' },
  Scheduler: { group: 'berth.io', resource: 'schedulers' },
  Signer: { group: 'certificates.k8s.io', resource: 'signers' },
  ComponentStatus: { group: '', resource: 'componentstatuses' },
  MeasuredNode: { group: 'metrics.k8s.io', resource: 'nodes' },
  MeasuredPod: { group: 'metrics.k8s.io', resource: 'pods' },
  User: { group: '', resource: 'users' },
  Group: { group: '', resource: 'groups' },
  Uid: { group: 'authentication.k8s.io', resource: 'uids' },
  UserExtra: { group: 'authentication.k8s.io', resource: 'userextras' },
  ServiceAccount: { group: '', resource: 'serviceaccounts' },
  TokenReview: { group: 'authentication.k8s.io', resource: 'tokenreviews' },
  SelfSubjectReview: { group: 'authentication.k8s.io', resource: 'selfsubjectreviews' },
  SelfSubjectAccessReview: { group: 'authorization.k8s.io', resource: 'selfsubjectaccessreviews' },
  SelfSubjectRulesReview: { group: 'authorization.k8s.io', resource: 'selfsubjectrulesreviews' },
  LocalSubjectAccessReview: { group: 'authorization.k8s.io', resource: 'localsubjectaccessreviews' },
  SubjectAccessReview: { group: 'authorization.k8s.io', resource: 'subjectaccessreviews' },
} as const satisfies Readonly<Record<string, ResourceName>>;

/** What an access is to roles. Pure. */
export function attributesOf(access: Access, { group, resource }: ResourceName): Attributes {
  const { verb, subresource = '' }: Meaning = meaningOf(access.verb);
  const { selected } = access;
  const name = access.name || (selected?.['metadata.name'] ?? '');
  // A Namespace counts as in itself, so a role in a namespace may permit reading it.
  const namespace = group === '' && resource === 'namespaces' ? name : access.namespace;
  return { verb, group, resource, subresource, namespace, name, selected };
}

function meaningOf(verb: AccessVerb): Meaning {
  const known: Meaning | undefined = (meanings as Readonly<Record<string, Meaning>>)[verb];
  if (known) return known;
  const dash = verb.indexOf('-');
  return { verb: verb.slice(0, dash), subresource: verb.slice(dash + 1) };
}

import type { ServiceDefinition } from '@grpc/grpc-js';
import { internal } from '../../api/errors/index.ts';
import { kindId } from '../../api/kinds/index.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import type { Access } from '../authz/attributes.ts';
import { actionsOf } from '../verbs/actions/index.ts';

/** What a method may ask of the authorizer, which it has to do before it answers. */
export interface MethodAccess {
  /** Verbs; with a `*` at the end, of every subresource: "patch-*". */
  readonly verbs?: readonly string[];
  /** The ids of the kinds; absent: those of the request. */
  readonly kinds?: readonly string[];
  /** Non-resource URLs: "/version". */
  readonly paths?: true;
  /** Only the node itself. */
  readonly node?: true;
  /** Each item of the stream is authorized separately. */
  readonly items?: true;
}

/** The standard verbs, the same for typed services and Objects. */
const standard: Readonly<Record<string, MethodAccess>> = {
  Create: { verbs: ['create'] },
  Get: { verbs: ['get'] },
  List: { verbs: ['list'] },
  Watch: { verbs: ['watch'] },
  // A PUT of Kubernetes' API makes what is missing.
  Update: { verbs: ['update', 'update-*', 'create'] },
  UpdateStatus: { verbs: ['update-status'] },
  Patch: { verbs: ['patch', 'patch-*'] },
  Delete: { verbs: ['delete'] },
  DeleteCollection: { verbs: ['delete-collection'] },
};

/** The methods of kinds that can be scaled. */
const scaling: Readonly<Record<string, MethodAccess>> = {
  GetScale: { verbs: ['get-scale'] },
  UpdateScale: { verbs: ['update-scale'] },
  PatchScale: { verbs: ['patch-scale'] },
};

/** Served by the door of Kubernetes' API alone. */
const proxy: MethodAccess = { verbs: ['get', 'create', 'update', 'patch', 'delete', 'options'].map((verb) => `${verb}-proxy`) };

/** A kind's methods besides those and its actions. */
const special: Readonly<Record<string, Readonly<Record<string, MethodAccess>>>> = {
  Pod: {
    BindStream: { verbs: ['create-binding'], items: true },
    Logs: { verbs: ['logs'] },
    Exec: { verbs: ['exec'] },
    Attach: { verbs: ['attach', 'logs'] },
    PortForward: { verbs: ['port-forward'] },
    ReadFiles: { verbs: ['read-files'] },
    WriteFiles: { verbs: ['write-files'] },
    Proxy: proxy,
  },
  Service: { Proxy: proxy },
  Node: { Proxy: proxy },
};

const reviews = [
  ['authentication', 'SelfSubjectReview'],
  ['authentication', 'TokenReview'],
  ['authorization', 'SelfSubjectAccessReview'],
  ['authorization', 'SubjectAccessReview'],
  ['authorization', 'LocalSubjectAccessReview'],
  ['authorization', 'SelfSubjectRulesReview'],
] as const;

const writes = ['create', 'update', 'update-*', 'patch', 'patch-*', 'delete'];

/** What extension servers are asked for, by Kubernetes' words; subresources are in the attributes. */
export const extensionVerbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'delete-collection'] as const;

/** Every method that belongs to no kind. */
const others: Readonly<Record<string, MethodAccess>> = {
  '/berth.meta.v1.Objects/Kinds': { paths: true },
  '/berth.meta.v1.Objects/FindVersion': { paths: true },
  '/berth.meta.v1.Objects/History': { verbs: ['get'] },
  '/berth.meta.v1.Objects/Bulk': { verbs: writes, items: true },
  '/berth.node.v1.Tunnel/Control': { node: true },
  '/berth.node.v1.Tunnel/Serve': { node: true },
  '/berth.node.v1.NetChecks/Get': { verbs: ['get-netcheck'], kinds: ['Node'] },
  '/berth.scheduling.v1.Placements/Why': { verbs: ['get'], kinds: ['Pod'] },
  '/berth.scheduling.v1.Placements/Simulate': { verbs: ['create'], kinds: ['Pod'] },
  '/berth.scheduling.v1.Placements/List': { verbs: ['list'], kinds: ['Placement'] },
  '/berth.scheduling.v1.Placements/Serve': { verbs: ['update'], kinds: ['Scheduler'] },
  '/berth.metrics.v1.UsageHistories/Get': { verbs: ['get'], kinds: ['Node', 'Pod'] },
  // Served by the door of Kubernetes' API alone.
  '/berth.metrics.v1.ResourceMetrics/Get': { verbs: ['get'], kinds: ['MeasuredNode', 'MeasuredPod'] },
  '/berth.metrics.v1.ResourceMetrics/List': { verbs: ['list'], kinds: ['MeasuredNode', 'MeasuredPod'] },
  '/berth.apiregistration.v1.Extensions/Request': { verbs: [...extensionVerbs], kinds: ['Extension'], paths: true },
  '/berth.core.v1.ComponentStatuses/Get': { verbs: ['get'], kinds: ['ComponentStatus'] },
  '/berth.core.v1.ComponentStatuses/List': { verbs: ['list'], kinds: ['ComponentStatus'] },
  '/berth.authentication.v1.TokenKeys/List': { paths: true },
  '/berth.server.v1.Backups/Backup': { verbs: ['create'], kinds: ['Backup'] },
  '/berth.server.v1.Certificates/GetAuthorities': { paths: true },
  '/berth.server.v1.Certificates/List': { verbs: ['list'], kinds: ['Certificate'] },
  '/berth.server.v1.Certificates/Renew': { verbs: ['create'], kinds: ['Certificate'] },
  '/berth.server.v1.Certificates/DropAuthority': { verbs: ['delete'], kinds: ['Certificate'] },
  '/berth.server.v1.Extensions/EmptyNamespace': { verbs: ['update-finalize'], kinds: ['Namespace'] },
  '/berth.server.v1.SecretKeys/Rotate': { verbs: ['create'], kinds: ['SecretKey'] },
  '/berth.server.v1.Pages/Get': { paths: true },
  '/berth.ops.v1.LogLevels/Get': { verbs: ['get'], kinds: ['LogLevel'] },
  '/berth.ops.v1.LogLevels/Set': { verbs: ['update'], kinds: ['LogLevel'] },
};

/**
 * The required access of each method, unary and stream, typed and generic. The server refuses to serve a service with a
 * missing method, and a method whose handler authorizes something else, or nothing, fails with INTERNAL: a forgotten
 * check fails closed.
 */
export class AccessTable {
  readonly #methods = new Map<string, MethodAccess>(Object.entries(others));

  constructor() {
    for (const [name, access] of Object.entries(standard)) this.#methods.set(`/berth.meta.v1.Objects/${name}`, access);
    this.#methods.set('/berth.meta.v1.Objects/Get', { verbs: ['get', 'get-scale'] });
    for (const [group, kind] of reviews)
      this.#methods.set(`/berth.${group}.v1.${kind}s/Create`, { verbs: ['create'], kinds: [kind] });
  }

  /** Declares the typed methods of a kind. */
  add(kind: Kind): void {
    const { service, subresources = {}, scale } = kind;
    const id = kindId(kind);
    const updates = Object.entries(subresources).map(([name, { method }]) => [method, { verbs: [`update-${name}`] }]);
    const actions = actionsOf(id).map(({ method, access }) => [method, { verbs: [access] }]);
    const methods: Record<string, MethodAccess> = {
      ...standard,
      ...(scale && scaling),
      ...Object.fromEntries(updates),
      ...Object.fromEntries(actions),
      ...special[id],
    };
    for (const [name, access] of Object.entries(methods)) this.#methods.set(`/${service}/${name}`, { ...access, kinds: [id] });
  }

  /** Throws for a method that declares no access: the server does not start. */
  require(definition: ServiceDefinition): void {
    for (const { path } of Object.values(definition))
      if (!this.#methods.has(path))
        throw new Error(`method ${path} declares no access: add it to apiserver/calls/access-table.ts`);
  }

  /** Throws INTERNAL when the method may not ask for this. */
  check(path: string, { verb, kind }: Pick<Access, 'verb' | 'kind'>): void {
    const declared = this.#methods.get(path);
    if (declared?.verbs?.some((each) => covers(each, verb)) && (declared.kinds?.includes(kind) ?? true)) return;
    throw internal(`${path} asks for "${verb}" of ${kind}, which it does not declare`);
  }

  checkPath(path: string): void {
    if (!this.#methods.get(path)?.paths) throw internal(`${path} asks for a path, which it does not declare`);
  }

  checkNode(path: string): void {
    if (!this.#methods.get(path)?.node) throw internal(`${path} asks for a node, which it does not declare`);
  }

  /** Whether each item of a stream is authorized by itself. */
  isOfItems(path: string): boolean {
    return this.#methods.get(path)?.items === true;
  }
}

function covers(declared: string, verb: string): boolean {
  return declared === verb || (declared.endsWith('*') && verb.startsWith(declared.slice(0, -1)));
}

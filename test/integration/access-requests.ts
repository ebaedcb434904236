import type { Method, Service } from 'protobufjs';
import { allDescriptors } from '../../api/codec/descriptors.ts';
import { kindId, kinds } from '../../api/kinds/index.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import { actionsOf } from '../../apiserver/verbs/actions/index.ts';

// One harmless request for every method of the API: of objects that are not there, or as a dry run.

const dryRun = { dryRun: ['All'] };
const name = 'none';
const at = { namespace: 'default', name };
const pod = { metadata: at };
/** As it is long enough for lists and watches to say at once what there is. */
const watching = { sendInitialEvents: true, allowWatchBookmarks: true, resourceVersionMatch: 'NotOlderThan' };

function standard(kind: Kind): Readonly<Record<string, object>> {
  const place = kind.namespaced ? { namespace: 'default' } : {};
  // A role that every user that may bind at all holds.
  const more = kind.kind.endsWith('RoleBinding') ? { roleRef: { kind: 'ClusterRole', name: 'system:discovery' } } : {};
  const write = { object: { metadata: { ...place, name }, ...more }, options: dryRun };
  return {
    Create: write,
    Update: write,
    UpdateStatus: write,
    ...(kind.scale && {
      GetScale: { ...place, name },
      UpdateScale: write,
      PatchScale: { ...place, name, type: 'merge', patch: Buffer.from('{}'), options: dryRun },
    }),
    ...Object.fromEntries(Object.values(kind.subresources ?? {}).map(({ method }) => [method, write])),
    ...Object.fromEntries(actionsOf(kindId(kind)).map(({ method }) => [method, write])),
    Get: { ...place, name },
    List: place,
    Watch: { ...place, options: watching },
    Patch: { ...place, name, type: 'merge', patch: Buffer.from('{}'), options: dryRun },
    Delete: { ...place, name, options: dryRun },
    // Of some kinds there are objects that may not be deleted.
    DeleteCollection: { ...place, options: dryRun, listOptions: { labelSelector: 'no=such' } },
  };
}

const configMap = { kind: 'ConfigMap' };
const objectWrite = { kind: configMap, format: 'json', object: Buffer.from(JSON.stringify(pod)), options: dryRun };
const start = { start: at };

/** What is special to a service, by its name and then the method's. Methods with streams of items take one item. */
const special: Readonly<Record<string, Readonly<Record<string, object>>>> = {
  'berth.core.v1.Pods': {
    BindStream: { bindings: [{ id: 1, binding: { object: pod } }] },
    Logs: at,
    ReadFiles: { ...at, options: { path: '/x' } },
    Exec: { start: { ...at, options: { command: ['x'] } } },
    Attach: start,
    PortForward: { start: { ...at, options: { ports: [80] } } },
    WriteFiles: { start: { ...at, options: { path: '/x' } } },
  },
  'berth.meta.v1.Objects': {
    Kinds: {},
    Create: objectWrite,
    Update: objectWrite,
    UpdateStatus: { ...objectWrite, kind: { kind: 'Pod' } },
    Get: { kind: configMap, get: at },
    List: { kind: configMap, namespace: 'default' },
    Watch: { kind: configMap, namespace: 'default', options: watching },
    Patch: { kind: configMap, patch: { ...at, type: 'merge', patch: Buffer.from('{}'), options: dryRun } },
    Delete: { kind: configMap, delete: { ...at, options: dryRun } },
    DeleteCollection: { kind: configMap, delete: { namespace: 'default', options: dryRun } },
    History: { kind: configMap, ...at },
    FindVersion: { ageMilliseconds: 0 },
    Bulk: { items: [{ id: 1, create: objectWrite }] },
  },
  'berth.metrics.v1.UsageHistories': { Get: { namespace: 'default', podName: name } },
  'berth.node.v1.NetChecks': { Get: { nodeName: 'n1' } },
  'berth.node.v1.Tunnel': { Control: { hello: { nodeName: 'n1' } }, Serve: { streamId: name } },
  'berth.ops.v1.LogLevels': { Get: {}, Set: { level: 'info' } },
  'berth.scheduling.v1.Placements': {
    Why: at,
    Simulate: { pods: [{ ...pod, spec: { containers: [{ name: 'c', image: 'x' }] } }] },
    List: {},
    Serve: { schedulerName: 'another' },
  },
  'berth.server.v1.Backups': { Backup: {} },
  'berth.server.v1.Certificates': { GetAuthorities: {}, List: {}, Renew: { names: ['admin'] }, DropAuthority: {} },
  'berth.server.v1.Extensions': { EmptyNamespace: { namespace: 'default' } },
  'berth.server.v1.Pages': { Get: { path: '/metrics' } },
  'berth.server.v1.SecretKeys': { Rotate: {} },
  'berth.authentication.v1.SelfSubjectReviews': { Create: {} },
  'berth.authentication.v1.TokenKeys': { List: {} },
  'berth.authentication.v1.TokenReviews': { Create: { object: { spec: { token: 'x' } } } },
  'berth.authorization.v1.LocalSubjectAccessReviews': {
    Create: {
      object: {
        metadata: { namespace: 'default' },
        spec: { user: 'x', resourceAttributes: { verb: 'get', resource: 'pods', namespace: 'default' } },
      },
    },
  },
  'berth.authorization.v1.SelfSubjectAccessReviews': {
    Create: { object: { spec: { nonResourceAttributes: { verb: 'get', path: '/' } } } },
  },
  'berth.authorization.v1.SubjectAccessReviews': {
    Create: { object: { spec: { user: 'x', nonResourceAttributes: { verb: 'get', path: '/' } } } },
  },
  'berth.authorization.v1.SelfSubjectRulesReviews': { Create: { object: { spec: { namespace: 'default' } } } },
};

/** A method, and a request for it. */
export interface AskedMethod {
  /** "/berth.core.v1.Pods/Get". */
  readonly path: string;
  readonly request: object;
  readonly method: Method;
}

/** Every method that the protos declare. Throws for one for which nothing is known to ask. */
export function everyMethod(): AskedMethod[] {
  const kindOf = new Map(kinds.map((kind) => [kind.service, kind]));
  return services().flatMap((service) => {
    const full = service.fullName.slice(1);
    const kind = kindOf.get(full);
    const requests = { ...(kind ? standard(kind) : {}), ...special[full] };
    return service.methodsArray.map((method) => {
      const request = requests[method.name];
      if (!request) throw new Error(`say in access-requests.ts what ${full}/${method.name} is to be asked`);
      return { path: `/${full}/${method.name}`, request, method: method.resolve() as Method };
    });
  });
}

function services(): Service[] {
  const found: Service[] = [];
  const visit = (each: { readonly nestedArray?: readonly unknown[] }): void => {
    for (const nested of (each.nestedArray ?? []) as Service[]) {
      if ('methodsArray' in nested) found.push(nested);
      else visit(nested);
    }
  };
  visit(allDescriptors().lookup('berth') as never);
  return found.sort((a, b) => (a.fullName < b.fullName ? -1 : 1));
}

import { badRequest } from '../../api/errors/index.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { portNameError } from '../../api/meta/names.ts';
import { list, type Tree, text, tree } from '../describe/json.ts';
import { portNumber } from './numbers.ts';
import { parseLabelList } from './pairs.ts';

export interface ExposeFlags {
  readonly port?: string;
  readonly targetPort?: string;
  readonly protocol?: string;
  readonly name?: string;
  readonly type?: string;
  readonly selector?: string;
  readonly labels?: string;
  readonly clusterIp?: string;
  readonly externalIp?: string;
  readonly loadBalancerIp?: string;
  readonly sessionAffinity?: string;
}

const EXPOSED: readonly string[] = ['Pod', 'Service', 'ReplicationController', 'Deployment', 'ReplicaSet'];
const LONGEST_NAME = 63;

/** Throws INVALID_ARGUMENT for a kind that `expose` makes no services of. */
export function checkExposable({ kind, singular }: Pick<Kind, 'kind' | 'singular'>): void {
  if (!EXPOSED.includes(kind))
    throw badRequest(`cannot expose a ${singular}: name a pod, service, replicationcontroller, deployment or replicaset`);
}

/** A service for the pods of an object: kubectl's rules. Throws INVALID_ARGUMENT for what has no ports or selector. */
export function exposedService({ kind }: Pick<Kind, 'kind'>, object: Tree, flags: ExposeFlags): JsonObject {
  const labels = flags.labels === undefined ? tree(object, 'metadata', 'labels') : parseLabelList('--labels', [flags.labels]);
  const { type, clusterIp, externalIp, loadBalancerIp, sessionAffinity } = flags;
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name: flags.name ?? text(object, 'metadata', 'name').slice(0, LONGEST_NAME),
      ...(Object.keys(labels).length > 0 && { labels: labels as JsonObject }),
    },
    spec: {
      selector: flags.selector === undefined ? selectorOf(kind, object) : parseLabelList('--selector', [flags.selector]),
      ports: portsFor(kind, object, flags),
      ...(type !== undefined && { type }),
      ...(clusterIp !== undefined && { clusterIP: clusterIp }),
      ...(externalIp !== undefined && { externalIPs: externalIp.split(',') }),
      ...(loadBalancerIp !== undefined && { loadBalancerIP: loadBalancerIp }),
      ...(sessionAffinity !== undefined && { sessionAffinity }),
    },
  };
}

/** The labels by which the object's pods are found. */
function selectorOf(kind: string, object: Tree): JsonObject {
  const found = (selector: Tree, why: string): JsonObject => {
    if (Object.keys(selector).length === 0) throw badRequest(`${why}: give --selector`);
    return selector as JsonObject;
  };
  if (kind === 'Pod') return found(tree(object, 'metadata', 'labels'), 'the pod has no labels and cannot be exposed');
  if (kind !== 'Deployment' && kind !== 'ReplicaSet') return found(tree(object, 'spec', 'selector'), 'it has no selector');
  if (list(object, 'spec', 'selector', 'matchExpressions').length > 0)
    throw badRequest('its selector has expressions, and that of a service has labels alone: give --selector');
  return found(tree(object, 'spec', 'selector', 'matchLabels'), 'it has no selector');
}

interface Port {
  readonly port: number;
  readonly protocol: string;
}

/** Those of --port, else those that the object has. Several get the names "port-1", "port-2" and so on. */
function portsFor(kind: string, object: Tree, flags: ExposeFlags): JsonObject[] {
  const own = portsOf(kind, object);
  const wanted = flags.port === undefined ? own : flags.port.split(',').map((each) => portNamed(each, own));
  if (wanted.length === 0) throw badRequest("couldn't find port via --port flag or introspection: give --port");
  const target = flags.targetPort === undefined ? undefined : targetPort(flags.targetPort);
  return wanted.map(({ port, protocol }, i) => ({
    ...(wanted.length > 1 && { name: `port-${i + 1}` }),
    port,
    protocol: flags.protocol ?? protocol,
    targetPort: target ?? port,
  }));
}

function portNamed(word: string, own: readonly Port[]): Port {
  const port = portNumber('--port', word);
  return own.find((each) => each.port === port) ?? { port, protocol: 'TCP' };
}

function portsOf(kind: string, object: Tree): Port[] {
  const portsIn = (all: readonly Tree[], field: string): Port[] =>
    all.map((each) => ({ port: Number(text(each, field)), protocol: text(each, 'protocol') || 'TCP' }));
  if (kind === 'Service') return portsIn(list(object, 'spec', 'ports'), 'port');
  const containers = list(object, 'spec', ...(kind === 'Pod' ? [] : ['template', 'spec']), 'containers');
  return containers.flatMap((container) => portsIn(list(container, 'ports'), 'containerPort'));
}

function targetPort(word: string): number | string {
  if (/^\d+$/.test(word)) return portNumber('--target-port', word);
  const rule = portNameError(word);
  if (rule !== undefined)
    throw badRequest(`--target-port: "${word}" is neither the number nor the name of a port: a name ${rule}`);
  return word;
}

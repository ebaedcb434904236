import { addressOfLease } from '../../../api/meta/load-balancers.ts';
import { namespaces } from '../../../api/meta/well-known.ts';
import type { Attributes } from '../attributes.ts';
import type { NodeGraph } from './node-graph.ts';

/**
 * What every node needs of the whole cluster. Of other nodes' pods it reveals names, labels and addresses alone, which
 * Services and network policies are about.
 */
const SHARED: readonly string[] = [
  'node.k8s.io/runtimeclasses',
  'storage.k8s.io/storageclasses',
  'networking.berth.io/nodenetworks',
  '/services',
  'discovery.k8s.io/endpointslices',
  'networking.berth.io/podaddressslices',
  'networking.k8s.io/networkpolicies',
];
const READ: readonly string[] = ['get', 'list', 'watch'];
/** An agent creates and updates these objects, but may not delete them. */
const KEEP: readonly string[] = ['get', 'list', 'watch', 'create', 'update', 'patch'];

/** The rule of a resource, by "group/resource" or "group/resource/subresource". */
type NodeRule = (attributes: Attributes, node: string, graph: NodeGraph) => boolean;

const isOwn: NodeRule = ({ name }, node) => name === node;

const usedBy: NodeRule = ({ verb, resource, namespace, name }, node, graph) =>
  verb === 'get' && name !== '' && graph.isUsed(node, `${resource}/${namespace}/${name}`);

const rules: Readonly<Record<string, NodeRule>> = {
  '/nodes': (attributes, node, graph) => KEEP.includes(attributes.verb) && isOwn(attributes, node, graph),
  '/nodes/status': (attributes, node, graph) => KEEP.includes(attributes.verb) && isOwn(attributes, node, graph),
  'metrics.k8s.io/nodemetrics': (attributes, node, graph) => isOwn(attributes, node, graph),
  'coordination.k8s.io/leases': (attributes, node, graph) => {
    const { verb, namespace, name } = attributes;
    if (namespace === namespaces.nodeLease) return isOwn(attributes, node, graph);
    // The controllers make the Leases of load balancers' addresses; nodes compete for them (node-changes.ts).
    if (namespace !== namespaces.system) return false;
    return READ.includes(verb) || (verb === 'update' && addressOfLease(name) !== undefined);
  },
  '/events': ({ verb }) => ['create', 'update', 'patch'].includes(verb),
  // Creates of mirror pods and deletes of its own pods; admission and checkNodeChange check the object.
  '/pods': ({ verb, namespace, name, selected }, node, graph) => {
    if (verb === 'create' || verb === 'delete') return true;
    if (verb === 'get') return graph.hasPod(node, `pods/${namespace}/${name}`);
    return (verb === 'list' || verb === 'watch') && selected?.['spec.nodeName'] === node;
  },
  '/pods/status': ({ verb }) => verb === 'update' || verb === 'patch',
  // Certificate rotation. The approver checks the requested names; the content is not confidential.
  'certificates.k8s.io/certificatesigningrequests': ({ verb }) => verb === 'create' || verb === 'get',
  '/secrets': usedBy,
  '/configmaps': usedBy,
  '/persistentvolumeclaims': usedBy,
  '/serviceaccounts': usedBy,
  // The pod and the audiences are checked with the request (node-tokens.ts).
  '/serviceaccounts/token': ({ verb, namespace, name }, node, graph) =>
    verb === 'create' && graph.isUsed(node, `serviceaccounts/${namespace}/${name}`),
  '/persistentvolumes': ({ verb, name, selected }, node, graph) => {
    if (verb === 'patch') return true;
    if (verb === 'get') return graph.usesVolume(node, name);
    return (verb === 'list' || verb === 'watch') && selected?.['spec.local.nodeName'] === node;
  },
};

/**
 * The node authorizer: permits a node access to its own objects, to its pods and to the objects that they use. Changes
 * of pods, volumes and events are also checked against the stored object (node-changes.ts). Pure.
 */
export function nodeMay(node: string, attributes: Attributes, graph: NodeGraph): boolean {
  const { verb, group, resource, subresource } = attributes;
  const key = subresource === '' ? `${group}/${resource}` : `${group}/${resource}/${subresource}`;
  if (SHARED.includes(key)) return READ.includes(verb);
  return rules[key]?.(attributes, node, graph) === true;
}

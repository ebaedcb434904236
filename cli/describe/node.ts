import { isNotFound } from '../../api/errors/index.ts';
import type { Node, Pod } from '../../api/generated/types.ts';
import { nodeRolesCell } from '../../api/kinds/node/columns.ts';
import { namespaces } from '../../api/meta/well-known.ts';
import type { Describer } from './describer.ts';
import { writeTree } from './generic.ts';
import { list, type Tree, text, tree } from './json.ts';
import { age, type Lines, timeText } from './lines.ts';
import { computeResourceRows, livePods, podReserve } from './node-resources.ts';
import { writeConditions, writeDeletion, writeLabels, writeName } from './sections.ts';

/** What belongs to a node and stands elsewhere. */
export interface NodeFacts {
  /** The node as the typed client gives it, for sums. */
  readonly node: Node;
  readonly pods: readonly Pod[];
  /** Its heartbeat; undefined when it never had one. */
  readonly lease: Tree | undefined;
}

/** Whether the node is well, what it has, what pods reserve of it, what it really uses, and which pods those are. */
export const describeNode: Describer = async (object, { session: { client }, now }) => {
  const name = text(object, 'metadata', 'name');
  const { listAll } = await import('../../client/index.ts');
  const [node, { items: pods }, lease] = await Promise.all([
    client.nodes.get({ name }),
    listAll(client.pods, { fieldSelector: `spec.nodeName=${name}` }),
    client.objects.get('Lease', { namespace: namespaces.nodeLease, name }).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    }),
  ]);
  return (lines) => writeNode(object, { node, pods, lease }, lines, now);
};

/** Pure. */
export function writeNode(object: Tree, { node, pods, lease }: NodeFacts, lines: Lines, now: Date): void {
  writeName(object, lines);
  lines.field('Roles', nodeRolesCell(node));
  writeLabels(object, lines);
  lines.field('CreationTimestamp', timeText(text(object, 'metadata', 'creationTimestamp')));
  writeDeletion(object, lines, now);
  lines.field('Taints', list(object, 'spec', 'taints').map(taintText));
  lines.field('Unschedulable', String(tree(object, 'spec').unschedulable === true));
  writeLease(lease, lines, now);
  writeConditions(object, lines);
  lines.section('Addresses', (inner) => {
    for (const address of list(object, 'status', 'addresses')) inner.field(text(address, 'type'), text(address, 'address'));
  });
  for (const [heading, part] of [
    ['Capacity', 'capacity'],
    ['Allocatable', 'allocatable'],
  ] as const)
    lines.section(heading, (inner) => {
      for (const [resource, amount] of Object.entries(tree(object, 'status', part))) inner.field(resource, String(amount));
    });
  lines.section('System Info', (inner) => writeTree(tree(object, 'status', 'nodeInfo'), inner));
  lines.field('Images', imagesText(list(object, 'status', 'images')));
  writePods(node, livePods(pods), lines, now);
  writeUsage(object, lines, now);
}

function taintText(taint: Tree): string {
  const value = text(taint, 'value');
  return `${text(taint, 'key')}${value ? `=${value}` : ''}:${text(taint, 'effect')}`;
}

function writeLease(lease: Tree | undefined, lines: Lines, now: Date): void {
  if (lease === undefined) {
    lines.field('Lease', undefined);
    return;
  }
  const renewed = text(lease, 'spec', 'renewTime');
  lines.section('Lease', (inner) => {
    inner.field('HolderIdentity', text(lease, 'spec', 'holderIdentity'));
    inner.field('AcquireTime', timeText(text(lease, 'spec', 'acquireTime')));
    inner.field('RenewTime', renewed ? `${timeText(renewed)} (${age(renewed, now)} ago)` : '');
  });
}

/** How many images there are and what they take together; agents tell a bounded number, the largest. */
function imagesText(images: readonly Tree[]): string {
  const bytes = images.reduce((total, image) => total + Number(text(image, 'sizeBytes') || '0'), 0);
  return images.length === 0 ? '' : `${images.length} (${Math.round(bytes / (1024 * 1024))}Mi)`;
}

function writePods(node: Node, pods: readonly Pod[], lines: Lines, now: Date): void {
  const { allocatable = {}, usage } = node.status ?? {};
  lines.table(
    `Non-terminated Pods (${pods.length} in total)`,
    ['Namespace', 'Name', 'CPU Requests', 'CPU Limits', 'Memory Requests', 'Memory Limits', 'Age'],
    pods.map((pod) => {
      const { namespace = '', name = '', creationTimestamp } = pod.metadata ?? {};
      const created = creationTimestamp && new Date((creationTimestamp.seconds ?? 0) * 1000).toISOString();
      return [namespace, name, ...podReserve(pod, allocatable), age(created, now)];
    }),
  );
  const used = { cpu: usage?.cpu, memory: usage?.memory, 'ephemeral-storage': usage?.disk };
  lines.table(
    'Allocated resources',
    ['Resource', 'Requests', 'Limits', 'In Use'],
    computeResourceRows(pods, { allocatable, used }),
  );
}

/** What the machine uses beside what can be reserved, and as of when. */
function writeUsage(object: Tree, lines: Lines, now: Date): void {
  const { timestamp, cpu, memory, ...more } = tree(object, 'status', 'usage');
  if (timestamp === undefined) {
    lines.field('In Use', 'not reported yet');
    return;
  }
  lines.section('In Use', (inner) => {
    inner.field('Read', `${timeText(String(timestamp))} (${age(timestamp, now)} ago)`);
    writeTree(more, inner);
  });
}

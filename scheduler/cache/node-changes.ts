import { isDeepStrictEqual } from 'node:util';
import type { Node } from '../../api/generated/types.ts';
import type { NodeChangeKind } from '../framework/plugin.ts';
import { isReady } from './node-record.ts';

const parts: Readonly<Record<NodeChangeKind, (node: Node) => unknown>> = {
  'node/resources': (node) => [node.status?.allocatable, node.status?.capacity],
  'node/labels': (node) => node.metadata?.labels,
  'node/taints': (node) => [node.spec?.taints, node.spec?.unschedulable ?? false],
  'node/ready': isReady,
  'node/usage': (node) => node.status?.usage,
};

/** What differs between two versions of a node, in the words that rejections wait for. */
export function nodeChanges(previous: Node, next: Node): NodeChangeKind[] {
  return (Object.keys(parts) as NodeChangeKind[]).filter((kind) => !isDeepStrictEqual(parts[kind](previous), parts[kind](next)));
}

import { list, type Tree, text, tree } from './json.ts';
import { type Lines, pairs } from './lines.ts';

/** What a person wants to know of a node: whether it is well, what it has, what it uses, and which pods run there. */
export function describeNode(node: Tree, pods: readonly Tree[], lines: Lines): void {
  lines.field(
    'Taints',
    list(node, 'spec', 'taints').map((taint) => {
      const value = text(taint, 'value');
      return `${text(taint, 'key')}${value ? `=${value}` : ''}:${text(taint, 'effect')}`;
    }),
  );
  lines.field('Unschedulable', node.spec !== undefined && tree(node, 'spec').unschedulable === true ? 'true' : 'false');
  lines.table(
    'Conditions',
    ['Type', 'Status', 'Reason', 'Message'],
    list(node, 'status', 'conditions').map((each) => ['type', 'status', 'reason', 'message'].map((name) => text(each, name))),
  );
  lines.field(
    'Addresses',
    list(node, 'status', 'addresses').map((each) => `${text(each, 'type')}: ${text(each, 'address')}`),
  );
  lines.field('Capacity', pairs(tree(node, 'status', 'capacity'), ': '));
  lines.field('Allocatable', pairs(tree(node, 'status', 'allocatable'), ': '));
  lines.field(
    'In Use',
    pairs(
      Object.fromEntries(Object.entries(tree(node, 'status', 'usage')).filter(([, value]) => typeof value !== 'object')),
      ': ',
    ),
  );
  lines.field('System Info', pairs(tree(node, 'status', 'nodeInfo'), ': '));
  lines.table(
    'Pods',
    ['Namespace', 'Name', 'CPU Requests', 'Memory Requests', 'Status'],
    pods.map((pod) => [
      text(pod, 'metadata', 'namespace'),
      text(pod, 'metadata', 'name'),
      requestText(pod, 'cpu'),
      requestText(pod, 'memory'),
      text(pod, 'status', 'phase'),
    ]),
  );
}

function requestText(pod: Tree, resource: string): string {
  const amounts = list(pod, 'spec', 'containers').map((container) => text(container, 'resources', 'requests', resource));
  return amounts.filter(Boolean).join(' + ') || '0';
}

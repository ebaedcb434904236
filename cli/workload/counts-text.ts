import { type Tree, text } from '../describe/json.ts';

/**
 * What counts towards an object being up, of how many: "1 of 3 replicas available". Empty for kinds that count nothing.
 */
export function countsText(kind: string, object: Tree): string {
  const number = (...path: readonly string[]): number => Number(text(object, ...path) || '0');
  switch (kind) {
    case 'Pod':
      return text(object, 'status', 'phase');
    case 'Deployment':
    case 'ReplicaSet':
    case 'ReplicationController':
      return `${number('status', 'availableReplicas')} of ${number('spec', 'replicas')} replicas available`;
    case 'StatefulSet':
      return `${number('status', 'readyReplicas')} of ${number('spec', 'replicas')} replicas ready`;
    case 'DaemonSet':
      return `${number('status', 'numberReady')} of ${number('status', 'desiredNumberScheduled')} pods ready`;
    case 'Job':
      return `${number('status', 'succeeded')} of ${number('spec', 'completions') || 1} pods succeeded`;
    default:
      return '';
  }
}

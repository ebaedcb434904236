import { expect, it } from 'vitest';
import { mayLabelItself } from './own-labels.ts';

it.each([
  ['rack', true],
  ['example.com/rack', true],
  ['mykubernetes.io/rack', true],
  ['kubernetes.io/hostname', true],
  ['topology.kubernetes.io/zone', true],
  ['node.kubernetes.io/anything', true],
  ['team.node.kubernetes.io/anything', true],
  ['node-restriction.kubernetes.io/trusted', false],
  ['team.node-restriction.kubernetes.io/trusted', false],
  ['node-role.kubernetes.io/control-plane', false],
  ['kubernetes.io/anything', false],
  ['k8s.io/anything', false],
])('a node may label itself with %s: %s', (key, may) => expect(mayLabelItself(key)).toBe(may));

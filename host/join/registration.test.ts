import { describe, expect, it } from 'vitest';
import type { Node } from '../../api/generated/types.ts';
import { lackingCommands, parseRegistration, registrationErrors } from './registration.ts';

describe('labels and taints of a node that joins', () => {
  it.each<[{ label?: string[]; taint?: string[] }, RegExp]>([
    [{ label: ['rack'] }, /--label "rack" must be KEY=VALUE/],
    [{ label: ['=a'] }, /must be KEY=VALUE/],
    [{ label: ['a b=c'] }, /--label "a b=c": the key/],
    [{ label: ['a=b c'] }, /the value/],
    [
      { label: ['node-restriction.kubernetes.io/pci=yes'] },
      /may not give itself this label.*NodeRestriction.*berth label node NAME/,
    ],
    [{ label: ['node-role.kubernetes.io/control-plane='] }, /may not give itself/],
    [{ taint: ['gpu'] }, /--taint "gpu" is no taint/],
    [{ taint: ['gpu=yes:Never'] }, /the effect must be NoSchedule/],
    [{ taint: ['g pu=yes:NoSchedule'] }, /--taint "g pu=yes:NoSchedule"/],
  ])('are refused: %j', (flags, message) => {
    const errors = registrationErrors(flags);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatch(message);
  });

  const flags = { label: ['rack=a', 'example.com/disk='], taint: ['gpu=yes:NoSchedule', 'old:NoExecute'] };

  it('are what they say', () => {
    expect(registrationErrors(flags)).toEqual([]);
    expect(parseRegistration(flags)).toEqual({
      labels: { rack: 'a', 'example.com/disk': '' },
      taints: [
        { key: 'gpu', value: 'yes', effect: 'NoSchedule' },
        { key: 'old', value: '', effect: 'NoExecute' },
      ],
    });
    expect(parseRegistration({})).toEqual({ labels: {}, taints: [] });
  });

  it('are not changed on a node that is there: how to do that is said', () => {
    const wanted = parseRegistration(flags);
    const node: Node = {
      metadata: { name: 'n2', labels: { rack: 'b', 'example.com/disk': '' } },
      spec: { taints: [{ key: 'old', effect: 'NoExecute' }] },
    };
    expect(lackingCommands(node, wanted)).toEqual([
      'berth label node n2 --overwrite rack=a',
      'berth taint nodes n2 --overwrite gpu=yes:NoSchedule',
    ]);
    const made: Node = { metadata: { name: 'n2', labels: { ...wanted.labels } }, spec: { taints: [...wanted.taints] } };
    expect(lackingCommands(made, wanted)).toEqual([]);
  });
});

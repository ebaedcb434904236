import { describe, expect, it } from 'vitest';
import type { Node } from '../../api/generated/types.ts';
import { pod } from '../../test/builders/index.ts';
import type { PodBuilder } from '../../test/builders/pod.ts';
import { createAdmit } from './admit.ts';
import { isAdmitted, refusalOf } from './pod-lifecycle.ts';
import { advance, createRecord, demandKill, type PodRecord } from './pod-record.ts';

const node: Node = { metadata: { name: 'n1' } };

function recordOf(builder: PodBuilder): PodRecord {
  const object = builder.build();
  return createRecord(object.metadata?.uid ?? '', object);
}

/** Beside one that is admitted and one that is admitted and leaving. */
async function admit(builder: PodBuilder) {
  const told: string[] = [];
  const [stays, leaves, record] = [
    recordOf(pod('stays').uid('1').requests({ cpu: '1' })),
    recordOf(pod('leaves').uid('2').requests({ cpu: '2' })),
    recordOf(builder.uid('3')),
  ];
  for (const other of [stays, leaves]) advance(other, { type: 'admit' });
  demandKill(leaves, { type: 'delete', gracePeriodSeconds: 600 });
  const decide = createAdmit({
    allocatable: { cpu: 4000, pods: 10 },
    isolation: { appArmor: false, allowedUnsafeSysctls: [] },
    node: { last: () => node, read: async () => node },
    events: (_pod, _type, reason) => told.push(reason),
  });
  const decided = await decide(record, [stays, leaves, record]);
  return { decided, admitted: isAdmitted(record.life), refused: refusalOf(record.life)?.reason, told };
}

describe('admission beside a pod that takes long to leave', () => {
  it('is at once where there is room', async () => {
    expect(await admit(pod('a').requests({ cpu: '1' }))).toMatchObject({ decided: true, admitted: true, told: [] });
  });

  it('waits for room that it leaves', async () => {
    expect(await admit(pod('a').requests({ cpu: '3' }))).toMatchObject({ decided: false, admitted: false, refused: undefined });
  });

  it.each([
    ['where that would not be enough', pod('a').requests({ cpu: '4' }), 'OutOfcpu'],
    ['when its own node is against it', pod('a').nodeSelector({ disk: 'ssd' }), 'NodeAffinity'],
    [
      'when its node may not isolate it as it wants',
      pod('a').spec({ securityContext: { sysctls: [{ name: 'kernel.a' }] } }),
      'SysctlForbidden',
    ],
  ])('is refused at once %s', async (_, builder, reason) => {
    expect(await admit(builder)).toEqual({ decided: true, admitted: false, refused: reason, told: [reason] });
  });
});

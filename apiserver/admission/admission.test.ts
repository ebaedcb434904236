import { expect, it } from 'vitest';
import type { Pod } from '../../api/generated/types.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import { type Admission, composeAdmission } from './admission.ts';
import { limitRangeRules } from './limit-range.ts';
import { namespaceLifecycle } from './namespace-lifecycle.ts';
import { podSecurityRules } from './pod-security.ts';
import { priorityRules } from './priority.ts';
import { runtimeClassRules } from './runtime-class.ts';
import { serviceAccountRules } from './service-account.ts';

const rule = (parts: Partial<Admission>): Admission => ({ create: async () => {}, ...parts });

it('composed rules read what each of them reads', () => {
  const rules = [
    rule({ reads: { Pod: ['Node', 'ServiceAccount'] } }),
    rule({}),
    rule({ reads: { Pod: ['ServiceAccount'], PersistentVolumeClaim: ['StorageClass'] } }),
  ];
  expect(composeAdmission(rules).reads).toEqual({
    Pod: ['Node', 'ServiceAccount'],
    PersistentVolumeClaim: ['StorageClass'],
  });
});

it('composed rules end at the first that refuses', async () => {
  const asked: string[] = [];
  const refusing = rule({
    async create() {
      asked.push('first');
      throw new Error('refused');
    },
  });
  const second = rule({ create: async () => void asked.push('second') });
  await expect(composeAdmission([refusing, second]).create(kindNamed('Pod'), {})).rejects.toThrow('refused');
  expect(asked).toEqual(['first']);
});

it('composed rules come in order, also where some need a promise and others throw at once', async () => {
  const asked: number[] = [];
  const waits = (n: number) => rule({ create: async () => void asked.push(n) });
  const atOnce = (n: number) => rule({ create: () => void asked.push(n) });
  await composeAdmission([atOnce(1), waits(2), atOnce(3), waits(4)]).create(kindNamed('Pod'), {});
  expect(asked).toEqual([1, 2, 3, 4]);
  const refusing = rule({
    create() {
      throw new Error('refused');
    },
  });
  await expect(composeAdmission([waits(5), refusing, waits(6)]).create(kindNamed('Pod'), {})).rejects.toThrow('refused');
  expect(asked.at(-1)).toBe(5);
});

it('composed rules go on in the same turn where one does not concern the kind', () => {
  const asked: string[] = [];
  const second = rule({ create: async () => void asked.push('second') });
  void composeAdmission([rule({ create: () => undefined }), second]).create(kindNamed('Pod'), {});
  expect(asked).toEqual(['second']);
});

it.each<[string, Admission]>([
  ['namespaces', namespaceLifecycle((name) => ({ metadata: { name } }))],
  ['runtime classes', runtimeClassRules(() => undefined)],
  ['priority', priorityRules({ get: () => undefined, list: () => [] })],
  ['service accounts', serviceAccountRules(() => undefined)],
  ['limit ranges', limitRangeRules(() => undefined)],
  ['pod security', podSecurityRules((name) => ({ metadata: { name } }))],
])('the rule of %s judges a new pod without a promise when what it reads is there', (_, { create }) => {
  expect(create(kindNamed('Pod'), { metadata: { namespace: 'team', name: 'web' }, spec: {} } as Pod)).toBeUndefined();
});

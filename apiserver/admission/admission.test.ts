import { expect, it } from 'vitest';
import { kindNamed } from '../../api/kinds/index.ts';
import { type Admission, composeAdmission } from './admission.ts';

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

it('composed rules go on in the same turn where one does not concern the kind', () => {
  const asked: string[] = [];
  const second = rule({ create: async () => void asked.push('second') });
  void composeAdmission([rule({ create: () => undefined }), second]).create(kindNamed('Pod'), {});
  expect(asked).toEqual(['second']);
});

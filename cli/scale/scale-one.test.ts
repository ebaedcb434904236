import { expect, it } from 'vitest';
import { conflict } from '../../api/errors/index.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import type { JsonObject, ObjectsClient } from '../../client/index.ts';
import { isScaled, scaleOne } from './scale-one.ts';

const target = { kind: kindNamed('Deployment'), key: { namespace: 'default', name: 'web' } };
const scaleAt = (version: string, replicas: number): JsonObject => ({
  metadata: { name: 'web', resourceVersion: version },
  spec: { replicas },
});

/** Objects with the scales that each read gives; the first writes may fail. */
function fake(scales: JsonObject[], conflicts = 0) {
  const calls: unknown[] = [];
  let left = conflicts;
  const objects = {
    get: async () => scales.shift()!,
    patch: async (...[, , patch]: unknown[]) => void calls.push(patch),
    async update(_kind: string, object: JsonObject) {
      if (left-- > 0) throw conflict({ kind: 'Deployment', name: 'web' }, 'it has changed');
      calls.push([(object.metadata as JsonObject).resourceVersion, object.spec]);
    },
  };
  return { objects: objects as unknown as ObjectsClient, calls };
}

it('scales without reading when nothing has to be true before', async () => {
  const { objects, calls } = fake([]);
  await scaleOne(objects, target, 3, {}, {});
  expect(calls).toEqual([{ spec: { replicas: 3 } }]);
});

it('scales the version that was judged, and judges again what another writer changed', async () => {
  const { objects, calls } = fake([scaleAt('1', 2), scaleAt('2', 2)], 1);
  await scaleOne(objects, target, 3, { currentReplicas: 2 }, {});
  expect(calls).toEqual([['2', { replicas: 3 }]]);
  const changed = fake([scaleAt('1', 2), scaleAt('2', 5)], 1);
  await expect(scaleOne(changed.objects, target, 3, { currentReplicas: 2 }, {})).rejects.toThrow(
    'Expected replicas to be 2, was 5',
  );
  expect(changed.calls).toEqual([]);
});

it('refuses another version than the one that is asked for', async () => {
  const { objects, calls } = fake([scaleAt('7', 2)]);
  await expect(scaleOne(objects, target, 3, { resourceVersion: '6' }, {})).rejects.toThrow(
    'Expected resource version to be 6, was 7',
  );
  expect(calls).toEqual([]);
});

it.each([
  ['has as many pods as wanted', { spec: { replicas: 3 }, status: { replicas: 3 } }, true],
  ['has fewer', { spec: { replicas: 3 }, status: { replicas: 2 } }, false],
  ['has none yet', { spec: { replicas: 3 }, status: {} }, false],
  ['is scaled to another number meanwhile', { spec: { replicas: 5 }, status: { replicas: 2 } }, true],
  [
    'no controller has looked at since',
    { metadata: { generation: 2 }, spec: { replicas: 3 }, status: { replicas: 3, observedGeneration: 1 } },
    false,
  ],
])('one that %s has arrived at 3 pods or not', (_title, object, done) => expect(isScaled(object, 3)).toBe(done));

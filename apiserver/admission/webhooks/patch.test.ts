import { describe, expect, it } from 'vitest';
import { kindNamed } from '../../../api/kinds/index.ts';
import type { ApiObject, Kind } from '../../../api/kinds/kind.ts';
import { olderVersionsOf } from '../../../api/kinds/versions.ts';
import { patchedObject } from './patch.ts';

const configMap = kindNamed('ConfigMap') as Kind;
const object = { metadata: { name: 'a', namespace: 'shop', uid: 'u' }, data: { a: 'b' } };
const patched = (path: string, value: unknown) =>
  patchedObject(configMap, object, [{ op: 'replace', path, value }] as Parameters<typeof patchedObject>[2]);

describe('a patch of a webhook', () => {
  it('changes the object', () => {
    expect(patched('/data/a', 'c')).toEqual({ object: { ...object, data: { a: 'c' } }, leftOut: [] });
  });

  it.each([
    ['/apiVersion', 'v2', 'apiVersion'],
    ['/kind', 'Secret', 'kind'],
    ['/metadata/name', 'b', 'metadata.name'],
    ['/metadata/namespace', 'b', 'metadata.namespace'],
    ['/metadata/uid', 'b', 'metadata.uid'],
  ])('may not change %s', (path, value, named) => {
    expect(() => patched(path, value)).toThrow(`response.patch may not change ${named}`);
  });

  it('leaves out fields that the kind does not have, and names them', () => {
    const patch = [{ op: 'add', path: '/metadata/colour', value: 'red' } as const];
    expect(patchedObject(configMap, object, patch)).toEqual({ object, leftOut: ['metadata.colour'] });
  });

  it('makes no object of values of a wrong type, whatever is left out besides', () => {
    expect(() => patched('/metadata', { name: 'a', namespace: 'shop', uid: 'u', labels: 3, colour: 'red' })).toThrow(
      'makes an object that cannot be read',
    );
  });

  it('is of the version that the webhook was sent', () => {
    const v1 = olderVersionsOf('HorizontalPodAutoscaler').find(({ apiVersion }) => apiVersion === 'autoscaling/v1')!;
    const scaler: ApiObject & { spec: object } = { metadata: { name: 'a' }, spec: { maxReplicas: 3 } };
    const patch = [{ op: 'add', path: '/spec/targetCPUUtilizationPercentage', value: 70 } as const];
    const target = { type: 'Utilization', averageUtilization: 70 };
    expect(patchedObject(v1, scaler, patch).object).toMatchObject({
      spec: { maxReplicas: 3, metrics: [{ type: 'Resource', resource: { name: 'cpu', target } }] },
    });
  });
});

import { expect, it } from 'vitest';
import type { Kubectl } from './session.ts';

const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'toys.kubectl.example.com' },
  spec: {
    group: 'kubectl.example.com',
    scope: 'Namespaced',
    names: { plural: 'toys', singular: 'toy', kind: 'Toy', shortNames: ['ty'], categories: ['all'] },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: {
          status: {},
          scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' },
        },
        additionalPrinterColumns: [{ name: 'Color', type: 'string', jsonPath: '.spec.color' }],
        schema: {
          openAPIV3Schema: {
            type: 'object',
            description: 'A toy.',
            properties: {
              spec: {
                type: 'object',
                required: ['color'],
                properties: {
                  color: { type: 'string', description: 'The color of the toy.', enum: ['red', 'blue'] },
                  replicas: { type: 'integer' },
                },
              },
              status: { type: 'object', properties: { replicas: { type: 'integer' } } },
            },
          },
        },
      },
    ],
  },
};
const toy = (spec: object): string =>
  JSON.stringify({ apiVersion: 'kubectl.example.com/v1', kind: 'Toy', metadata: { name: 't', labels: { a: 'b' } }, spec });

/** A kind that a definition adds, from its definition to its end. */
export function customKinds(into: (namespace: string) => Promise<Kubectl>): void {
  it('objects of a custom kind are made, shown, explained, changed and deleted as others', async () => {
    const k = await into('custom');
    expect(await k.pipe(JSON.stringify(definition), 'apply -f -')).toBe(
      'customresourcedefinition.apiextensions.k8s.io/toys.kubectl.example.com created\n',
    );
    await k.ok('wait --for=condition=established crd/toys.kubectl.example.com --timeout=60s');
    expect(await k.pipe(toy({ color: 'red' }), 'apply -f -')).toBe('toy.kubectl.example.com/t created\n');
    expect(await k.ok('get toys')).toMatch(/^NAME +COLOR\nt +red\n$/);
    expect(await k.ok('get ty -o name -l a=b')).toBe('toy.kubectl.example.com/t\n');
    expect(await k.ok('get all -o name')).toContain('toy.kubectl.example.com/t\n');
    expect(await k.ok('get toys.v1.kubectl.example.com t -o', 'jsonpath={.spec.color}')).toBe('red');
    expect(await k.ok('explain toy.spec.color')).toMatch(/The color of the toy\./);
    const wrong = await k.run('apply -f -', [], toy({ color: 'green' }));
    expect(wrong).toMatchObject({ code: 1, stderr: expect.stringMatching(/spec\.color: [Uu]nsupported value:? "green"/) });
    expect(await k.ok('patch toy t --type=merge -p', '{"spec":{"color":"blue"}}')).toBe('toy.kubectl.example.com/t patched\n');
    expect(await k.pipe(toy({ color: 'red', replicas: 1 }), 'apply --server-side --force-conflicts -f -')).toBe(
      'toy.kubectl.example.com/t serverside-applied\n',
    );
    expect(await k.ok('scale toy/t --replicas=3')).toBe('toy.kubectl.example.com/t scaled\n');
    expect(await k.ok('get toy t -o', 'jsonpath={.spec.replicas}')).toBe('3');
    expect(await k.ok('label toy t c=d')).toBe('toy.kubectl.example.com/t labeled\n');
    expect(await k.ok('describe toy t')).toMatch(/^Name: +t\n(.|\n)*Spec:\n +Color: +red\n/);
    const watched = k.start('get toys --watch --no-headers');
    await watched.until(/^t +red\n/);
    expect(await k.ok('delete toy t')).toBe('toy.kubectl.example.com "t" deleted\n');
    await watched.stop();
    expect(await k.ok('api-resources --api-group=kubectl.example.com --no-headers')).toMatch(
      /^toys +ty +kubectl\.example\.com\/v1 +true +Toy\n$/,
    );
    expect(await k.ok('delete crd toys.kubectl.example.com')).toMatch(/"toys\.kubectl\.example\.com" deleted\n$/);
    expect(await k.fails('get toys.v1.kubectl.example.com')).toMatch(/could not find|doesn't have|not found/);
  });
}

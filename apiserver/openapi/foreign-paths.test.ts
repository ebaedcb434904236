import { describe, expect, it } from 'vitest';
import { parsedDocument } from './foreign-definitions.ts';
import { foreignPaths } from './foreign-paths.ts';

const of = { group: 'a.example.com', version: 'v1' };
const gvk = { ...of, kind: 'Toy' };
const GVK = 'x-kubernetes-group-version-kind';
const toys = '/apis/a.example.com/v1/namespaces/{namespace}/toys';
const read = (document: unknown) => {
  const body = Buffer.from(typeof document === 'string' ? document : JSON.stringify(document));
  return Object.fromEntries(foreignPaths(parsedDocument({ ...of, body, hash: '' }), (name) => ['Toy', 'Patch'].includes(name)));
};
const operation = (more: object = {}) => ({ operationId: 'patchToy', 'x-kubernetes-action': 'patch', [GVK]: gvk, ...more });
const reference = (name: string) => ({ $ref: `#/definitions/${name}` });
const dryRun = { name: 'dryRun', in: 'query', type: 'string', uniqueItems: true, description: 'None is stored.' };
const readDryRun = { name: 'dryRun', in: 'query', type: 'string', description: 'None is stored.' };

describe('the paths of an extension server', () => {
  it('keep what clients read of them', () => {
    const body = { name: 'body', in: 'body', required: true, schema: reference('Patch') };
    const patch = operation({
      consumes: ['application/json-patch+json', 'application/strategic-merge-patch+json'],
      parameters: [body, { $ref: '#/parameters/dryRun-1' }],
      responses: { '200': { description: 'OK', schema: reference('Toy') }, '401': {} },
    });
    const inPath = { name: 'namespace', in: 'path', required: true, type: 'string', description: 'Where.' };
    const document = { paths: { [toys]: { patch, parameters: [inPath] } }, parameters: { 'dryRun-1': dryRun } };
    expect(read(document)).toEqual({
      [toys]: [
        {
          ...{ method: 'patch', id: 'patchToy', action: 'patch', gvk, body: 'Patch', answer: 'Toy' },
          parameters: [{ name: 'namespace', in: 'path', type: 'string', description: 'Where.' }, readDryRun],
        },
      ],
    });
  });

  it('say of patches without the strategic form that there is none', () => {
    const patch = operation({ consumes: ['application/merge-patch+json'] });
    expect(read({ paths: { [toys]: { patch } } })[toys]).toMatchObject([{ withoutStrategic: true }]);
  });

  it.each([
    { group: 'autoscaling', version: 'v1', kind: 'Scale' },
    { group: '', version: 'v1', kind: 'Binding' },
  ])('of a subresource may speak of the kind of another group: $kind', (other) => {
    const path = `${toys}/{name}/other`;
    expect(read({ paths: { [path]: { get: operation({ [GVK]: other }) } } })[path]).toMatchObject([{ gvk: other }]);
  });

  it('tell the answer of a creation', () => {
    const post = operation({ responses: { '201': { schema: reference('Toy') } } });
    expect(read({ paths: { [toys]: { post } } })[toys]).toMatchObject([{ answer: 'Toy' }]);
  });

  it('are bounded in number, length, parameters and words', () => {
    const paths = Object.fromEntries(Array.from({ length: 2_001 }, (_, i) => [`${toys}/n${i}`, { get: operation() }]));
    expect(Object.keys(read({ paths }))).toHaveLength(2_000);
    const parameters = Array.from({ length: 51 }, (_, i) => ({ ...dryRun, name: `p${i}`, description: 'x'.repeat(2_001) }));
    const of = { [toys]: { get: operation({ parameters }) }, [`${toys}/${'n'.repeat(2_000)}`]: { get: operation() } };
    const { [toys]: [got] = [], ...others } = read({ paths: of });
    expect([got?.parameters.length, got?.parameters[0]?.description.length, others]).toEqual([50, 2_000, {}]);
  });

  it.each<[string, object]>([
    ['of another group', { '/apis/apps/v1/namespaces/{namespace}/deployments': { patch: operation() } }],
    ['of another version', { '/apis/a.example.com/v1beta1/toys': { patch: operation() } }],
    ['with odd characters', { [`${toys}/"`]: { patch: operation() } }],
    ['that leads elsewhere', { '/apis/a.example.com/v1/../../apps': { patch: operation() } }],
    ['without a kind', { [toys]: { patch: operation({ [GVK]: undefined }) } }],
    ['without an id', { [toys]: { patch: operation({ operationId: undefined }) } }],
    ['without an action', { [toys]: { patch: operation({ 'x-kubernetes-action': undefined }) } }],
    ['with a method that none knows', { [toys]: { trace: operation() } }],
    ['that is none', { [toys]: null }],
  ])('leave out one %s', (_title, paths) => expect(read({ paths })).toEqual({}));

  it('leave out definitions and parameters that there are not', () => {
    const body = { name: 'body', in: 'body', schema: reference('Missing') };
    const parameters = [
      ...[body, null, { $ref: '#/parameters/missing' }, { $ref: '#/parameterz/there' }],
      ...[
        { ...dryRun, in: 'header' },
        { ...dryRun, type: 'array' },
        { ...dryRun, name: '' },
      ],
    ];
    const get = operation({ parameters, responses: { '200': { schema: reference('Missing') } } });
    const elsewhere = operation({ responses: { '200': { schema: { $ref: '#/definitionz/Toy' } } } });
    const document = { paths: { [toys]: { get }, [`${toys}/{name}`]: { get: elsewhere } }, parameters: { there: dryRun } };
    expect(read(document)[`${toys}/{name}`]?.[0]).not.toHaveProperty('answer');
    expect(read(document)[toys]).toEqual([{ method: 'get', id: 'patchToy', action: 'patch', gvk, parameters: [] }]);
  });

  it.each(['{', 'null', '{"paths":[]}', '[]', '{}'])('are none where the document is %s', (text) =>
    expect(read(text)).toEqual({}),
  );
});

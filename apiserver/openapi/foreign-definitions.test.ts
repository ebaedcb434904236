import { describe, expect, it } from 'vitest';
import { foreignDefinitions, parsedDocument } from './foreign-definitions.ts';

const of = { group: 'a.example.com', version: 'v1' };
const GVK = 'x-kubernetes-group-version-kind';
const read = (definitions: unknown, own: readonly string[] = ['io.k8s.ObjectMeta']) => {
  const body = Buffer.from(typeof definitions === 'string' ? definitions : JSON.stringify({ definitions }));
  return Object.fromEntries(foreignDefinitions(parsedDocument({ ...of, body, hash: '' }), (name) => own.includes(name)));
};
const toy = (more: object = {}) => ({ type: 'object', [GVK]: [{ ...of, kind: 'Toy' }], ...more });

describe('the definitions of an extension server', () => {
  it('are taken with all that its kinds are made of', () => {
    const spec = { type: 'object', required: ['color'], properties: { color: { type: 'string', description: 'Its color.' } } };
    const metadata = { $ref: '#/definitions/io.k8s.ObjectMeta' };
    const parts = { type: 'array', items: { $ref: '#/definitions/Part' }, 'x-kubernetes-list-type': 'atomic' };
    const labels = { type: 'object', additionalProperties: { type: 'string' } };
    const properties = { metadata, spec: { $ref: '#/definitions/Spec' }, parts, labels };
    expect(read({ Toy: toy({ properties }), Spec: spec, Part: { type: 'integer', format: 'int64' }, Other: spec })).toEqual({
      Toy: toy({ properties }),
      Spec: spec,
      Part: { type: 'integer', format: 'int64' },
    });
  });

  it('replace none of this server, and stand for no kinds of others', () => {
    const kinds = [
      { group: 'apps', version: 'v1', kind: 'Deployment' },
      { ...of, kind: 'Toy' },
      { ...of, kind: 'a b' },
    ];
    const found = read({ Toy: toy({ [GVK]: kinds }), 'io.k8s.ObjectMeta': toy(), Deployment: { [GVK]: [kinds[0]] } });
    expect(found).toEqual({ Toy: toy() });
  });

  it.each<[string, object, object]>([
    ['a reference to nothing', { $ref: '#/definitions/Missing' }, { type: 'object' }],
    ['a reference to elsewhere', { $ref: 'https://example.com/x' }, { type: 'object' }],
    ['a type that is none', { type: 'file' }, { type: 'object' }],
    ['several types', { type: ['string', 'null'] }, { type: 'object' }],
    ['a list of nothing', { type: 'array' }, { type: 'array', items: { type: 'object' } }],
    ['a list of several', { type: 'array', items: [{ type: 'string' }] }, { type: 'array', items: { type: 'object' } }],
    [
      'required fields that are missing',
      { properties: { a: {} }, required: ['b'] },
      { type: 'object', properties: { a: { type: 'object' } } },
    ],
  ])('with %s are made readable', (_title, wrong, expected) => {
    expect(read({ Toy: toy({ properties: { wrong } }) })).toEqual({ Toy: toy({ properties: { wrong: expected } }) });
  });

  it('may refer to themselves', () => {
    const properties = { next: { $ref: '#/definitions/Toy' } };
    expect(read({ Toy: toy({ properties }) })).toEqual({ Toy: toy({ properties }) });
  });

  it.each(['{', 'null', '{"definitions":[]}', '[]'])('are none where the document is %s', (text) =>
    expect(read(text)).toEqual({}),
  );

  it('end where they are too deep', () => {
    const deep = `${'{"type":"array","items":'.repeat(5_000)}{}${'}'.repeat(5_000)}`;
    const body = `{"definitions":{"Toy":{"${GVK}":[${JSON.stringify({ ...of, kind: 'Toy' })}],"properties":{"a":${deep}}}}}`;
    expect(JSON.stringify(read(body)).length).toBeLessThan(2_000);
  });
});

import { describe, expect, it } from 'vitest';
import type { IngressClass, IngressClassParametersReference } from '../../generated/types.ts';
import { kindNamed } from '../index.ts';

const kind = kindNamed('IngressClass');
const fields = (list: readonly { field: string }[]): string[] => list.map(({ field }) => field);

function classOf(controller: string, parameters?: IngressClassParametersReference): IngressClass {
  const object: IngressClass = { spec: { controller, ...(parameters && { parameters: { ...parameters } }) } };
  kind.defaults(object);
  return object;
}
const parameterized = (parameters: IngressClassParametersReference): IngressClass => classOf('example.com/a', parameters);
const named = { kind: 'ConfigMap', name: 'a' };
const AT = 'spec.parameters';

describe('an IngressClass', () => {
  it.each<[string, IngressClass, string[]]>([
    ['a controller', classOf('k8s.io/ingress-nginx'), []],
    ['no controller', classOf(''), ['spec.controller']],
    ['a controller without a domain', classOf('nginx'), ['spec.controller']],
    ['a controller without a path', classOf('example.com/'), ['spec.controller']],
    ['a domain that is none', classOf('Example/a'), ['spec.controller']],
    ['a path that is none', classOf('example.com/a b'), ['spec.controller']],
    ['a controller of 251 bytes', classOf(`a.io/${'x'.repeat(246)}`), ['spec.controller']],
    ['parameters', parameterized(named), []],
    ['parameters of a namespace', parameterized({ ...named, scope: 'Namespace', namespace: 'shop' }), []],
    ['parameters of no namespace', parameterized({ ...named, scope: 'Namespace' }), [`${AT}.namespace`]],
    [
      'parameters of a namespace that is none',
      parameterized({ ...named, scope: 'Namespace', namespace: 'A' }),
      [`${AT}.namespace`],
    ],
    ['a namespace for the whole cluster', parameterized({ ...named, namespace: 'shop' }), [`${AT}.namespace`]],
    ['a scope that does not exist', parameterized({ ...named, scope: 'Node' }), [`${AT}.scope`]],
    ['parameters without kind and name', parameterized({}), [`${AT}.kind`, `${AT}.name`]],
  ])('is judged when it has %s', (_title, object, expected) => expect(fields(kind.validate(object))).toEqual(expected));

  it('has parameters of the whole cluster unless it says otherwise', () => {
    expect(parameterized(named).spec?.parameters?.scope).toBe('Cluster');
    expect(parameterized({ ...named, scope: 'Namespace' }).spec?.parameters?.scope).toBe('Namespace');
  });

  it('keeps its controller', () => {
    expect(fields(kind.validateUpdate(classOf('example.com/b'), classOf('example.com/a')))).toEqual(['spec.controller']);
    expect(kind.validateUpdate(parameterized(named), classOf('example.com/a'))).toEqual([]);
  });

  it('is shown with its controller and parameters, and warns that Berth has none', () => {
    const cells = (object: IngressClass) => kind.columns.slice(1, 3).map(({ cell }) => cell(object, new Date(0)));
    expect(cells(classOf('example.com/a'))).toEqual(['example.com/a', '<none>']);
    expect(cells(parameterized({ ...named, apiGroup: 'example.com' }))).toEqual(['example.com/a', 'ConfigMap.example.com/a']);
    expect(cells(parameterized(named))).toEqual(['example.com/a', 'ConfigMap/a']);
    expect(kind.warnings!(classOf('example.com/a'))).toEqual([expect.stringMatching(/^spec is not acted on: /)]);
  });
});

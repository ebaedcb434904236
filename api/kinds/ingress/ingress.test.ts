import { describe, expect, it } from 'vitest';
import { fromJson } from '../../codec/json.ts';
import type { Ingress } from '../../generated/types.ts';
import type { JsonObject } from '../../meta/merge-patch.ts';
import { kindNamed, kindOf } from '../index.ts';
import type { Kind } from '../kind.ts';

const kind = kindNamed('Ingress');
const fields = (list: readonly { field: string }[]): string[] => list.map(({ field }) => field);

function ingressOf(spec: JsonObject, metadata: JsonObject = {}, status: JsonObject = {}): Ingress {
  const named = { name: 'web', namespace: 'shop', ...metadata };
  return fromJson<Ingress>(kind as Kind, { apiVersion: kind.apiVersion, kind: kind.kind, metadata: named, spec, status });
}
const service = (port: JsonObject = { number: 80 }, name = 'web'): JsonObject => ({ service: { name, port } });
const rule = (path: JsonObject, host = ''): JsonObject => ({ rules: [{ host, http: { paths: [path] } }] });
const path = (text: string, pathType = 'Prefix'): JsonObject => rule({ path: text, pathType, backend: service() });
const host = (text: string): JsonObject => rule({ path: '/', pathType: 'Exact', backend: service() }, text);
const backend = (each: JsonObject): JsonObject => ({ defaultBackend: each });
const tls = (...list: JsonObject[]): JsonObject => ({ ...backend(service()), tls: list });
const PATH = 'spec.rules[0].http.paths[0]';
const BACKEND = 'spec.defaultBackend';

describe('an Ingress', () => {
  it.each<[string, JsonObject, string[]]>([
    ['nothing', {}, ['spec']],
    ['a default backend', backend(service()), []],
    ['a rule without paths', { rules: [{ host: 'a.example.com' }] }, []],
    ['a rule with an empty list of paths', { rules: [{ http: { paths: [] } }] }, ['spec.rules[0].http.paths']],
    ['a host of all kinds', host('*.example.com'), []],
    ['an address for a host', host('10.0.0.1'), ['spec.rules[0].host']],
    ['a host that is none', host('A_b'), ['spec.rules[0].host']],
    ['a star within a host', host('a.*.com'), ['spec.rules[0].host']],
    ['a star alone', host('*'), ['spec.rules[0].host']],
    ['a prefix', path('/a/b'), []],
    ['a path of no type', rule({ path: '/', backend: service() }), [`${PATH}.pathType`]],
    ['a type that does not exist', path('/', 'Regex'), [`${PATH}.pathType`]],
    ['a relative path', path('a'), [`${PATH}.path`]],
    ['an empty prefix', path(''), [`${PATH}.path`]],
    ['two slashes', path('/a//b', 'Exact'), [`${PATH}.path`]],
    ['a step up at the end', path('/a/..'), [`${PATH}.path`]],
    ['an escaped slash', path('/a%2Fb'), [`${PATH}.path`]],
    ['anything of the controller', path('/a//..', 'ImplementationSpecific'), []],
    ['nothing of the controller', path('', 'ImplementationSpecific'), []],
    ['a relative path of the controller', path('a', 'ImplementationSpecific'), [`${PATH}.path`]],
    ['a path without a backend', rule({ path: '/', pathType: 'Exact' }), [`${PATH}.backend`]],
    ['a port by name', backend(service({ name: 'http' })), []],
    ['a port by both', backend(service({ name: 'http', number: 80 })), [`${BACKEND}.service.port`]],
    ['no port', backend(service({})), [`${BACKEND}.service.port`]],
    ['a port that is none', backend(service({ number: 70_000 })), [`${BACKEND}.service.port.number`]],
    ['a name of a port that is none', backend(service({ name: 'A' })), [`${BACKEND}.service.port.name`]],
    ['a service that has no name', backend(service({ number: 80 }, '')), [`${BACKEND}.service.name`]],
    ['a service whose name is none', backend(service({ number: 80 }, 'a.b')), [`${BACKEND}.service.name`]],
    ['an object', backend({ resource: { apiGroup: 'example.com', kind: 'Bucket', name: 'a' } }), []],
    ['an object without kind and name', backend({ resource: {} }), [`${BACKEND}.resource.kind`, `${BACKEND}.resource.name`]],
    ['an object of no group', backend({ resource: { apiGroup: '', kind: 'A', name: 'a' } }), [`${BACKEND}.resource.apiGroup`]],
    ['an object and a service', backend({ resource: { kind: 'A', name: 'a' }, ...service() }), [BACKEND]],
    ['an empty backend', backend({}), [BACKEND]],
    ['certificates', tls({ hosts: ['a.example.com', '*.example.com'], secretName: 'a' }, {}), []],
    [
      'hosts and a Secret that are none',
      tls({ hosts: ['A'], secretName: 'A' }),
      ['spec.tls[0].hosts[0]', 'spec.tls[0].secretName'],
    ],
    ['a class', { ...backend(service()), ingressClassName: 'nginx' }, []],
    ['a class that is none', { ...backend(service()), ingressClassName: '' }, ['spec.ingressClassName']],
  ])('is judged when it has %s', (_title, spec, expected) => expect(fields(kind.validate(ingressOf(spec)))).toEqual(expected));

  it('may name its class in the older way, and in both only alike', () => {
    const annotated = (ingressClassName?: string) =>
      ingressOf(
        { ...backend(service()), ...(ingressClassName && { ingressClassName }) },
        { annotations: { 'kubernetes.io/ingress.class': 'nginx' } },
      );
    expect([annotated(), annotated('nginx')].flatMap((each) => kind.validateCreate!(each))).toEqual([]);
    expect(fields(kind.validateCreate!(annotated('other')))).toEqual(['metadata.annotations[kubernetes.io/ingress.class]']);
    expect(kind.warnings!(annotated())).toEqual([
      expect.stringMatching(/^spec is not acted on: Berth has no ingress controller.*NodePort.*--load-balancer-addresses$/),
      `annotation "kubernetes.io/ingress.class" is deprecated, please use 'spec.ingressClassName' instead`,
    ]);
  });

  it('has addresses and host names in its status', () => {
    const judged = (...ingress: JsonObject[]) =>
      fields(kind.validateStatusUpdate!(ingressOf({}, {}, { loadBalancer: { ingress } }), {}));
    expect(judged({ ip: '192.0.2.7' }, { hostname: 'a.example.com' })).toEqual([]);
    expect(judged({ ip: 'x' }, { hostname: '192.0.2.7' }, { hostname: 'a_b' })).toEqual([
      'status.loadBalancer.ingress[0].ip',
      'status.loadBalancer.ingress[1].hostname',
      'status.loadBalancer.ingress[2].hostname',
    ]);
  });

  it('is shown with its hosts, addresses and ports', () => {
    const cells = (ingress: Ingress) => kind.columns.slice(1, 5).map(({ cell }) => cell(ingress, new Date(0)));
    expect(cells(ingressOf(backend(service())))).toEqual(['<none>', '*', '', '80']);
    const rules = ['a', 'b', 'c', 'd'].map((name) => ({ host: `${name}.io` }));
    const status: JsonObject = { loadBalancer: { ingress: [{ ip: '192.0.2.7' }, { hostname: 'lb.io' }, { ip: '192.0.2.7' }] } };
    expect(cells(ingressOf({ ingressClassName: 'nginx', rules, tls: [{}] }, {}, status))).toEqual([
      'nginx',
      'a.io,b.io,c.io + 1 more...',
      '192.0.2.7,lb.io',
      '80, 443',
    ]);
    expect(kindOf('ing')).toBe(kind);
  });
});

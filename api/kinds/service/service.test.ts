import { describe, expect, it } from 'vitest';
import type { Service, ServicePort, ServiceSpec } from '../../generated/types.ts';
import { kindNamed, kindOf } from '../index.ts';

const kind = kindNamed('Service');

function service(spec: ServiceSpec = {}): Service {
  const built = { metadata: { name: 'web' }, spec: structuredClone({ ports: [{ port: 80 }], ...spec }) };
  kind.defaults(built);
  return built;
}

const fields = (list: readonly { field: string }[]): string[] => list.map(({ field }) => field);
const refused = (spec: ServiceSpec): string[] =>
  fields([...kind.validate(service(spec)), ...(kind.validateCreate?.(service(spec)) ?? [])]);
const balanced = (spec: ServiceSpec = {}): ServiceSpec => ({ type: 'LoadBalancer', ...spec });

describe('the defaults of a service', () => {
  it.each<[string, ServiceSpec, object]>([
    ['an address in the cluster', {}, { type: 'ClusterIP', sessionAffinity: 'None', internalTrafficPolicy: 'Cluster' }],
    ['TCP to the same port', {}, { ports: [{ port: 80, protocol: 'TCP', targetPort: { type: 0, intVal: 80 } }] }],
    [
      'no other port than is said',
      { ports: [{ port: 80, targetPort: { type: 1, strVal: 'http' } }] },
      { ports: [{ targetPort: { strVal: 'http' } }] },
    ],
    [
      'three hours with the same pod',
      { sessionAffinity: 'ClientIP' },
      { sessionAffinityConfig: { clientIP: { timeoutSeconds: 10_800 } } },
    ],
    ['ports of nodes for a load balancer', balanced(), { allocateLoadBalancerNodePorts: true, externalTrafficPolicy: 'Cluster' }],
    ['any node from outside', { externalIPs: ['192.0.2.1'] }, { externalTrafficPolicy: 'Cluster' }],
    ['the address in the list', { clusterIP: 'None' }, { clusterIPs: ['None'] }],
  ])('are %s', (_title, spec, expected) => expect(service(spec).spec).toMatchObject(expected));

  it('are few for a name that stands for another', () => {
    const spec = { type: 'ExternalName', externalName: 'example.com' };
    const built: Service = { spec: { ...spec } };
    kind.defaults(built);
    expect(built.spec).toEqual({ ...spec, sessionAffinity: 'None' });
  });
});

describe('a service', () => {
  const ports = (...list: ServicePort[]): ServiceSpec => ({ ports: list });
  it.each<[string, ServiceSpec, string[]]>([
    ['a port', {}, []],
    ['a port by name', ports({ port: 80, targetPort: { type: 1, strVal: 'http' }, appProtocol: 'kubernetes.io/h2c' }), []],
    ['no ports', ports(), ['spec.ports']],
    ['no ports and no address', { ports: [], clusterIP: 'None' }, []],
    ['no ports and another name', { ports: [], type: 'ExternalName', externalName: 'example.com.' }, []],
    ['a type that does not exist', { type: 'Anycast' }, ['spec.type']],
    ['a port of 0', ports({ port: 0 }), ['spec.ports[0].port']],
    ['a port that is too high', ports({ port: 65_536 }), ['spec.ports[0].port', 'spec.ports[0].targetPort']],
    ['several ports without names', ports({ port: 80 }, { port: 81 }), ['spec.ports[0].name', 'spec.ports[1].name']],
    ['a name twice', ports({ port: 80, name: 'a' }, { port: 81, name: 'a' }), ['spec.ports[1].name']],
    ['a port twice', ports({ port: 80, name: 'a' }, { port: 80, name: 'b' }), ['spec.ports[1]']],
    ['a port twice, by two protocols', ports({ port: 53, name: 'a' }, { port: 53, name: 'b', protocol: 'UDP' }), []],
    ['a port with capitals in its name', ports({ port: 80, name: 'HTTP' }), ['spec.ports[0].name']],
    ['SCTP', ports({ port: 80, protocol: 'SCTP' }), ['spec.ports[0].protocol']],
    ['a protocol that does not exist', ports({ port: 80, protocol: 'HTTP' }), ['spec.ports[0].protocol']],
    [
      'a port of pods whose name is none',
      ports({ port: 80, targetPort: { type: 1, strVal: 'HTTP port' } }),
      ['spec.ports[0].targetPort'],
    ],
    ['a protocol of applications that is none', ports({ port: 80, appProtocol: 'a b' }), ['spec.ports[0].appProtocol']],
    ['ports of nodes', { type: 'NodePort', ...ports({ port: 80, nodePort: 30_080 }) }, []],
    ['ports of nodes without their type', ports({ port: 80, nodePort: 30_080 }), ['spec.ports[0].nodePort']],
    [
      'a port of nodes twice',
      { type: 'NodePort', ...ports({ port: 80, name: 'a', nodePort: 30_080 }, { port: 81, name: 'b', nodePort: 30_080 }) },
      ['spec.ports[1].nodePort'],
    ],
    ['a selector that is none', { selector: { 'a b': '' } }, ['spec.selector[a b]']],
    ['an affinity that does not exist', { sessionAffinity: 'Cookie' }, ['spec.sessionAffinity']],
    [
      'an affinity that lasts too long',
      { sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 86_401 } } },
      ['spec.sessionAffinityConfig.clientIP.timeoutSeconds'],
    ],
    ['another name that is none', { type: 'ExternalName', externalName: 'a_b' }, ['spec.externalName']],
    ['no other name', { type: 'ExternalName' }, ['spec.externalName']],
    [
      'another name and an address',
      { type: 'ExternalName', externalName: 'example.com', clusterIP: '10.0.0.1' },
      ['spec.clusterIP'],
    ],
    ['addresses of nodes', { externalIPs: ['192.0.2.1', '2001:db8::1'] }, []],
    [
      'addresses that mean each machine itself',
      { externalIPs: ['127.0.0.1', '0.0.0.0', '169.254.1.1', 'fe80::1', '::1', 'x'] },
      Array.from({ length: 6 }, (_, i) => `spec.externalIPs[${i}]`),
    ],
    ['ranges that a load balancer lets in', balanced({ loadBalancerSourceRanges: ['10.0.0.0/8', ' fd00::/8 '] }), []],
    ['a range that is none', balanced({ loadBalancerSourceRanges: ['10.0.0.0'] }), ['spec.loadBalancerSourceRanges[0]']],
    [
      'settings of a load balancer without one',
      { loadBalancerSourceRanges: ['10.0.0.0/8'], loadBalancerClass: 'example.com/a', allocateLoadBalancerNodePorts: true },
      ['spec.loadBalancerSourceRanges', 'spec.allocateLoadBalancerNodePorts', 'spec.loadBalancerClass'],
    ],
    ['a class of load balancers that is none', balanced({ loadBalancerClass: 'a b' }), ['spec.loadBalancerClass']],
    ['pods on the node alone', balanced({ externalTrafficPolicy: 'Local', healthCheckNodePort: 30_000 }), []],
    ['a policy that does not exist', balanced({ externalTrafficPolicy: 'Near' }), ['spec.externalTrafficPolicy']],
    ['a policy for outside without an outside', { externalTrafficPolicy: 'Local' }, ['spec.externalTrafficPolicy']],
    ['a policy for inside that does not exist', { internalTrafficPolicy: 'Near' }, ['spec.internalTrafficPolicy']],
    ['health checks that nothing asks for', balanced({ healthCheckNodePort: 30_000 }), ['spec.healthCheckNodePort']],
    ['near pods', { trafficDistribution: 'PreferSameZone' }, []],
    ['pods that are preferred for no reason', { trafficDistribution: 'PreferFast' }, ['spec.trafficDistribution']],
  ])('is judged when it has %s', (_title, spec, expected) => expect(refused(spec)).toEqual(expected));

  it.each<[string, ServiceSpec, string[]]>([
    ['one', { clusterIP: '10.0.0.1' }, []],
    [
      'one of each family',
      { clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1', 'fd00::1'], ipFamilyPolicy: 'RequireDualStack' },
      [],
    ],
    ['a text', { clusterIP: 'any' }, ['spec.clusterIPs[0]']],
    ['a list without the first', { clusterIPs: ['10.0.0.1'] }, ['spec.clusterIP']],
    ['a list with another first', { clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.2'] }, ['spec.clusterIPs[0]']],
    ['two of one family', { clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1', '10.0.0.2'] }, ['spec.clusterIPs[1]']],
    [
      'three',
      { clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1', 'fd00::1', 'fd00::2'] },
      ['spec.clusterIPs', 'spec.clusterIPs[2]'],
    ],
    ['one and none', { clusterIP: 'None', clusterIPs: ['None', '10.0.0.1'] }, ['spec.clusterIPs[0]']],
    ['one of another family', { clusterIP: '10.0.0.1', ipFamilies: ['IPv6'] }, ['spec.clusterIPs[0]']],
    ['families that do not exist', { ipFamilies: ['IPv5', 'IPv4', 'IPv4'] }, ['spec.ipFamilies[0]', 'spec.ipFamilies[2]']],
    [
      'two families of which one may be',
      { ipFamilies: ['IPv4', 'IPv6'], ipFamilyPolicy: 'SingleStack' },
      ['spec.ipFamilyPolicy'],
    ],
    ['a policy that does not exist', { ipFamilyPolicy: 'Both' }, ['spec.ipFamilyPolicy']],
    ['none with ports of nodes', { clusterIP: 'None', type: 'NodePort' }, ['spec.clusterIP']],
  ])('has addresses that are judged: %s', (_title, spec, expected) => expect(refused(spec)).toEqual(expected));
});

describe('a change of a service', () => {
  /** The service as it would be stored, and the fields for which it would be refused. */
  function changed(next: ServiceSpec, before: ServiceSpec): { spec: ServiceSpec; refused: string[] } {
    const [object, previous] = [service(next), service(before)];
    kind.lifecycle?.prepareForUpdate?.(object, previous);
    return { spec: object.spec ?? {}, refused: fields([...kind.validate(object), ...kind.validateUpdate(object, previous)]) };
  }

  it.each<[string, ServiceSpec, ServiceSpec, ServiceSpec]>([
    ['the address that it does not mention', {}, { clusterIP: '10.0.0.1' }, { clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1'] }],
    [
      'the families that it does not mention',
      {},
      { ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' },
      { ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' },
    ],
    [
      'the first family alone for the policy of one',
      { ipFamilyPolicy: 'SingleStack' },
      { ipFamilies: ['IPv4', 'IPv6'], ipFamilyPolicy: 'PreferDualStack' },
      { ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' },
    ],
    [
      'the ports of nodes that it does not mention',
      { type: 'NodePort' },
      { type: 'NodePort', ports: [{ port: 80, nodePort: 30_080 }] },
      { ports: [{ port: 80, protocol: 'TCP', targetPort: { type: 0, intVal: 80 }, nodePort: 30_080 }] },
    ],
  ])('keeps %s', (_title, next, before, kept) => {
    const { spec, refused: violations } = changed(next, before);
    expect(spec).toMatchObject(kept);
    expect(violations).toEqual([]);
  });

  it('to another type takes away what the type has no use for', () => {
    const before = service(
      balanced({ ports: [{ port: 80, nodePort: 30_080 }], externalTrafficPolicy: 'Local', healthCheckNodePort: 30_000 }),
    );
    const { spec, refused: violations } = changed({ ...before.spec, type: 'ClusterIP' }, before.spec!);
    expect(violations).toEqual([]);
    expect(spec.ports?.[0]).not.toHaveProperty('nodePort');
    for (const name of ['allocateLoadBalancerNodePorts', 'externalTrafficPolicy', 'healthCheckNodePort'])
      expect(spec).not.toHaveProperty(name);
    const named = changed({ ...before.spec, type: 'ExternalName', externalName: 'example.com' }, before.spec!);
    expect(named.refused).toEqual([]);
  });

  it.each<[string, ServiceSpec, ServiceSpec, string[]]>([
    ['its address', { clusterIP: '10.0.0.2' }, { clusterIP: '10.0.0.1' }, ['spec.clusterIPs[0]']],
    [
      'its address, in the list as well',
      { clusterIP: '10.0.0.2', clusterIPs: ['10.0.0.2'] },
      { clusterIP: '10.0.0.1' },
      ['spec.clusterIPs[0]'],
    ],
    ['an address that it had none of', { clusterIP: '10.0.0.2' }, {}, []],
    ['a second address', { clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1', 'fd00::1'] }, { clusterIP: '10.0.0.1' }, []],
    [
      'its second address',
      { clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1', 'fd00::2'] },
      { clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1', 'fd00::1'] },
      ['spec.clusterIPs[1]'],
    ],
    [
      'its second address, with one family wanted',
      { clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1'], ipFamilyPolicy: 'SingleStack' },
      { clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1', 'fd00::1'] },
      [],
    ],
    ['SCTP that is new', { ports: [{ port: 80, protocol: 'SCTP' }] }, {}, ['spec.ports[0].protocol']],
    ['SCTP that it has', { ports: [{ port: 80, protocol: 'SCTP' }] }, { ports: [{ port: 80, protocol: 'SCTP' }] }, []],
    ['its first family', { ipFamilies: ['IPv6'] }, { ipFamilies: ['IPv4'] }, ['spec.ipFamilies[0]']],
    [
      'its class of load balancers',
      balanced({ loadBalancerClass: 'example.com/b' }),
      balanced({ loadBalancerClass: 'example.com/a' }),
      ['spec.loadBalancerClass'],
    ],
    [
      'its port for health checks',
      balanced({ externalTrafficPolicy: 'Local', healthCheckNodePort: 30_001 }),
      balanced({ externalTrafficPolicy: 'Local', healthCheckNodePort: 30_000 }),
      ['spec.healthCheckNodePort'],
    ],
  ])('is judged: %s', (_title, next, before, expected) => expect(changed(next, before).refused).toEqual(expected));
});

describe('what is told of a service', () => {
  it('is nothing: nodes carry it', () =>
    expect(kind.warnings?.({ spec: { ports: [{ port: 80 }], selector: { a: 'b' } } })).toEqual([]));

  it('is what kubectl shows', () => {
    expect(kindOf('svc')).toBe(kind);
    const cells = (object: Service) => Object.fromEntries(kind.columns.map(({ name, cell }) => [name, cell(object, new Date())]));
    const shown = { TYPE: 'ClusterIP', 'CLUSTER-IP': '<none>', 'EXTERNAL-IP': '<none>', 'PORT(S)': '80/TCP', SELECTOR: '<none>' };
    expect(cells(service())).toMatchObject(shown);
    expect(cells(service({ clusterIP: 'None', selector: { b: '1', a: '2' } }))).toMatchObject({
      'CLUSTER-IP': 'None',
      SELECTOR: 'a=2,b=1',
    });
    const spec = balanced({
      ports: [
        { port: 80, name: 'a', nodePort: 30_080 },
        { port: 53, name: 'b', protocol: 'UDP' },
      ],
    });
    expect(cells(service(spec))).toMatchObject({ 'EXTERNAL-IP': '<pending>', 'PORT(S)': '80:30080/TCP,53/UDP' });
    const status = { loadBalancer: { ingress: [{ ip: '192.0.2.7' }, { hostname: 'a.example.com' }] } };
    expect(cells({ ...service(spec), status })['EXTERNAL-IP']).toBe('192.0.2.7,a.example.com');
    expect(cells(service({ type: 'ExternalName', externalName: 'example.com' }))['EXTERNAL-IP']).toBe('example.com');
    expect(kind.selectableFields['spec.type']!(service())).toBe('ClusterIP');
  });

  it.each<[string, ServiceSpec, object[], string[]]>([
    ['an address', balanced(), [{ ip: '192.0.2.7', ipMode: 'Proxy' }], []],
    ['an address without a load balancer', {}, [{ ip: '192.0.2.7' }], ['status.loadBalancer.ingress']],
    ['an address that is none', balanced(), [{ ip: 'x' }], ['status.loadBalancer.ingress[0].ip']],
    ['a mode without an address', balanced(), [{ hostname: 'a', ipMode: 'VIP' }], ['status.loadBalancer.ingress[0].ipMode']],
    ['a mode that does not exist', balanced(), [{ ip: '192.0.2.7', ipMode: 'Magic' }], ['status.loadBalancer.ingress[0].ipMode']],
    ['a host name that is none', balanced(), [{ hostname: 'a_b' }], ['status.loadBalancer.ingress[0].hostname']],
  ])('is judged in its status: %s', (_title, spec, ingress, expected) => {
    expect(fields(kind.validateStatusUpdate!({ ...service(spec), status: { loadBalancer: { ingress } } }, {}))).toEqual(expected);
  });
});

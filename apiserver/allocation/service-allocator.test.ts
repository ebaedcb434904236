import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeMessage } from '../../api/codec/message.ts';
import type { Service, ServiceSpec } from '../../api/generated/types.ts';
import { keyPrefixOf } from '../../api/kinds/identity.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import type { Planned } from '../registry/ledgers/ledger.ts';
import { KindCache } from '../watch/kind-cache.ts';
import { parseServiceRanges } from './ranges.ts';
import { ServiceAllocator } from './service-allocator.ts';

const kind = kindNamed('Service');

/** An allocator over the cache of services, and a store whose changes the cache shows when it is told to. */
function createWorld(options = { serviceCidr: '10.43.0.0/27', nodePorts: '30000-30003' }) {
  let revision = 1;
  const cache = new KindCache(kind);
  cache.reset([], revision);
  const allocator = new ServiceAllocator(parseServiceRanges(options), Math.random);
  allocator.observe(cache);
  const key = (name: string) => `${keyPrefixOf(kind)}team/${name}`;
  const bytes = (service: Service) => encodeMessage(kind.message, service);
  return {
    allocator,
    cache,
    next: () => ++revision,
    bytes,
    key,
    show(name: string, service: Service | undefined, at = ++revision) {
      const type = service ? 'put' : 'delete';
      cache.apply({ type, key: key(name), bytes: bytes(service ?? {}), revision: at, durability: 'synced' });
      cache.advance(at);
    },
    /** The version as it would be stored, and the hold. */
    allot(
      name: string,
      spec: ServiceSpec = {},
      previous?: Service,
      dryRun = false,
    ): { service: Service; hold: Planned | undefined } {
      const service: Service = {
        metadata: { name, namespace: 'team' },
        spec: structuredClone({ ports: [{ port: 80 }], ...spec }),
      };
      kind.defaults(service);
      const subject = { kind: 'Service', name };
      return {
        service,
        hold: allocator.allot({ key: key(name), subject, next: service as never, previous: previous as never, dryRun }),
      };
    },
  };
}

it("gives the control plane's address to its Service only", () => {
  const { allocator } = createWorld();
  const spec: ServiceSpec = { type: 'ClusterIP', clusterIP: '10.43.0.1', clusterIPs: ['10.43.0.1'], ports: [{ port: 443 }] };
  const allot = (place: string) =>
    allocator.allot({
      ...{ key: `${keyPrefixOf(kind)}${place}`, subject: { kind: 'Service', name: place }, dryRun: true },
      next: { metadata: {}, spec } as never,
    });
  expect(() => allot('default/berth')).not.toThrow();
  for (const place of ['default/other', 'team/berth']) expect(() => allot(place)).toThrow('is kept for the control plane');
});

const nodePort = (port?: number): ServiceSpec => ({ type: 'NodePort', ports: [{ port: 80, ...(port && { nodePort: port }) }] });

describe('a new service', () => {
  it('gets an address and its families', () => {
    const { spec = {} } = createWorld().allot('a').service;
    expect(spec).toMatchObject({ ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack', clusterIPs: [spec.clusterIP] });
    expect(spec.clusterIP).toMatch(/^10\.43\.0\.(1[6-9]|2\d|30)$/);
    expect(spec.ports?.[0]).not.toHaveProperty('nodePort');
  });

  it.each<[string, ServiceSpec, object]>([
    ['without an address none', { clusterIP: 'None', selector: { a: 'b' } }, { clusterIP: 'None', ipFamilies: ['IPv4'] }],
    [
      'without an address and a selector both families',
      { clusterIP: 'None' },
      { ipFamilyPolicy: 'RequireDualStack', ipFamilies: ['IPv4', 'IPv6'] },
    ],
    [
      'of another name nothing',
      { type: 'ExternalName', externalName: 'a.b', ports: [] },
      { type: 'ExternalName', sessionAffinity: 'None' },
    ],
    ['that names an address that one', { clusterIP: '10.43.0.20' }, { clusterIP: '10.43.0.20', clusterIPs: ['10.43.0.20'] }],
    ['without node ports none', { type: 'LoadBalancer', allocateLoadBalancerNodePorts: false }, { ports: [{ port: 80 }] }],
  ])('%s', (_title, spec, expected) => expect(createWorld().allot('a', spec).service.spec).toMatchObject(expected));

  it('gets node ports, one for both protocols of a port, and one for health checks', () => {
    const ports = [
      { name: 't', port: 53 },
      { name: 'u', port: 53, protocol: 'UDP' },
      { name: 'x', port: 54 },
    ];
    const { spec } = createWorld().allot('a', { type: 'LoadBalancer', externalTrafficPolicy: 'Local', ports }).service;
    const [t, u, x] = spec!.ports!.map((port) => port.nodePort);
    expect(t).toBe(u);
    expect(new Set([t, x, spec?.healthCheckNodePort]).size).toBe(3);
    for (const port of [t, x, spec?.healthCheckNodePort]) expect(port).toBeGreaterThanOrEqual(30_000);
  });

  it.each<[string, ServiceSpec, string]>([
    [
      'an address outside',
      { clusterIP: '10.44.0.1' },
      'spec.clusterIPs[0]: invalid value "10.44.0.1": is outside of the addresses of services, 10.43.0.0/27',
    ],
    [
      'an address of the other family',
      { clusterIP: 'fd00::1', ipFamilies: ['IPv6'] },
      'spec.ipFamilies[0]: invalid value "IPv6": this cluster has IPv4 addresses only',
    ],
    ['the address of the control plane', { clusterIP: '10.43.0.1' }, 'is kept for the control plane'],
    [
      'an address of another',
      { clusterIP: '10.43.0.20' },
      'spec.clusterIPs[0]: invalid value "10.43.0.20": provided IP is already allocated: it is taken by the service "team/other"',
    ],
    [
      'both families',
      { ipFamilyPolicy: 'RequireDualStack' },
      'spec.ipFamilyPolicy: invalid value "RequireDualStack": this cluster has IPv4 addresses only: use SingleStack or PreferDualStack',
    ],
    [
      'a node port outside',
      nodePort(29_999),
      'spec.ports[0].nodePort: invalid value 29999: provided port is not in the valid range. The range of valid ports is 30000-30003',
    ],
    [
      'a node port of another',
      nodePort(30_001),
      'spec.ports[0].nodePort: invalid value 30001: provided port is already allocated: it is taken by the service "team/other"',
    ],
    [
      'a port for health checks that is its own',
      { ...nodePort(30_002), type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort: 30_002 },
      'spec.healthCheckNodePort: invalid value 30002: is a node port of the service itself',
    ],
  ])('is refused with %s', (_title, spec, why) => {
    const world = createWorld();
    world.allot('other', { ...nodePort(30_001), clusterIP: '10.43.0.20' });
    expect(() => world.allot('a', spec)).toThrow(why);
  });

  it('is refused when nothing is free, with what to do', () => {
    const world = createWorld();
    for (let i = 0; i < 15; i++) world.allot(`a${i}`);
    expect(() => world.allot('b')).toThrow(
      'no cluster address is free: all of 10.43.0.0/27 are taken; delete services, or start the server with a larger --service-cidr',
    );
    const other = createWorld();
    for (let i = 0; i < 4; i++) other.allot(`n${i}`, nodePort());
    expect(() => other.allot('m', nodePort())).toThrow(/^no node port is free: all of 30000-30003 are taken/);
  });

  it('holds nothing in a dry run', () => {
    const world = createWorld();
    const { service, hold } = world.allot('a', nodePort(), undefined, true);
    expect(hold).toBeUndefined();
    expect(service.spec?.clusterIP).toBeDefined();
    expect(world.allocator.taken).toEqual({ addresses: 0, ports: 0 });
  });
});

describe('what a service has', () => {
  it('is free again when its write failed, or when the cache shows that it is gone', () => {
    const { allot, allocator, show, next } = createWorld();
    allot('a').hold?.cancel();
    expect(allocator.taken.addresses).toBe(0);
    const { service, hold } = allot('b', nodePort());
    const at = next();
    hold?.settle(at);
    hold?.cancel();
    expect(allocator.taken).toEqual({ addresses: 1, ports: 1 });
    show('b', service, at);
    expect(allocator.taken).toEqual({ addresses: 1, ports: 1 });
    show('b', undefined);
    expect(allocator.taken).toEqual({ addresses: 0, ports: 0 });
  });

  it('stays its own through a change, also outside of the range', () => {
    const { allot, show } = createWorld();
    const previous: Service = { spec: { ...nodePort(25_000), clusterIP: '10.99.0.1', clusterIPs: ['10.99.0.1'] } };
    show('old', previous);
    expect(allot('old', previous.spec, previous).service.spec).toMatchObject(previous.spec!);
  });

  it('is not needed for a change that leaves the spec alone', () => {
    const { allot, allocator } = createWorld();
    const [first] = Array.from({ length: 15 }, (_, i) => allot(`a${i}`));
    const previous = { spec: { ...first?.service.spec } };
    delete previous.spec.clusterIP;
    delete previous.spec.clusterIPs;
    expect(allot('old', previous.spec, previous).service.spec).toEqual(previous.spec);
    expect(() => allot('old', { ...previous.spec, selector: { a: 'b' } }, previous)).toThrow('no cluster address is free');
    expect(allocator.taken.addresses).toBe(15);
  });

  it('is given up with its type', () => {
    const { allot, allocator, show, next } = createWorld();
    const { service, hold } = allot('a', nodePort());
    hold?.settle(next());
    show('a', service);
    const change = allot('a', { type: 'ExternalName', externalName: 'a.b', ports: [] }, service);
    expect(allocator.taken).toEqual({ addresses: 1, ports: 1 });
    change.hold?.settle(next());
    show('a', change.service);
    expect(allocator.taken).toEqual({ addresses: 0, ports: 0 });
  });

  it('is read anew when the cache starts afresh, with what is under way', () => {
    const { allot, allocator, cache, bytes, key } = createWorld();
    const { service } = allot('a');
    // The one of a is drawn by lot.
    const other = service.spec?.clusterIP === '10.43.0.30' ? '10.43.0.29' : '10.43.0.30';
    const stored = { spec: { clusterIP: other } };
    cache.reset([{ key: key('b'), bytes: bytes(stored), revision: 7 } as never], 7);
    expect(allocator.taken.addresses).toBe(2);
  });

  it('is told of when several have it or it is outside', () => {
    const { show, allocator } = createWorld();
    show('a', { spec: { clusterIP: '10.43.0.20' } });
    show('b', { spec: { clusterIP: '10.43.0.20', ports: [{ nodePort: 80 }] } });
    expect([...allocator.findings()]).toEqual([
      'the cluster address 10.43.0.20 is that of the services "team/a" and "team/b"',
      'the node port 80 of "team/b" is outside of 30000-30003',
    ]);
  });
});

describe('whatever happens', () => {
  const names = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f');
  const step = fc.record({
    name: names,
    what: fc.constantFrom('create', 'change', 'delete', 'fail', 'store', 'show', 'reset'),
    spec: fc.constantFrom<ServiceSpec>({}, nodePort(), nodePort(30_001), { clusterIP: '10.43.0.20' }, { clusterIP: 'None' }),
  });

  it('no two services that are stored or under way have one number, and nothing is lost', () =>
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const world = createWorld();
        const stored = new Map<string, Service>();
        const under = new Map<string, { service: Service; hold: Planned | undefined }>();
        const unseen: { name: string; service: Service | undefined; at: number }[] = [];
        const show = (): void => {
          for (const { name, service, at } of unseen.splice(0)) world.show(name, service, at);
        };
        for (const { name, what, spec } of steps) {
          const write = under.get(name);
          if ((what === 'create' && !stored.has(name)) || (what === 'change' && stored.has(name))) {
            if (write) continue;
            try {
              under.set(name, world.allot(name, spec, stored.get(name)));
            } catch (error) {
              expect(String(error)).toMatch(/taken/);
            }
          } else if (what === 'fail') {
            write?.hold?.cancel();
            under.delete(name);
          } else if (what === 'store' && write) {
            const at = world.next();
            stored.set(name, write.service);
            unseen.push({ name, service: write.service, at });
            write.hold?.settle(at);
            under.delete(name);
          } else if (what === 'delete' && stored.has(name) && !write) {
            stored.delete(name);
            unseen.push({ name, service: undefined, at: world.next() });
          } else if (what === 'show') show();
          const all = [...stored, ...[...under].map(([each, { service }]) => [each, service] as const)];
          const holders = new Map<string, string>();
          for (const [each, { spec: its = {} }] of all)
            for (const number of [its.clusterIP, ...(its.ports ?? []).map(({ nodePort: port }) => port)]) {
              if (!number || number === 'None') continue;
              expect(holders.get(String(number)) ?? each).toBe(each);
              holders.set(String(number), each);
            }
        }
        show();
        for (const { hold } of under.values()) hold?.cancel();
        const left = [...stored.values()];
        expect(world.allocator.taken).toEqual({
          addresses: left.filter(({ spec }) => spec?.clusterIP !== 'None').length,
          ports: left.filter(({ spec }) => spec?.type === 'NodePort').length,
        });
      }),
      { numRuns: 300 },
    ));
});

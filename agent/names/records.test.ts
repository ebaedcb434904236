import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { service, slice } from '../../test/builders/names.ts';
import { createNamesResponder } from '../../test/fakes/names-responder.ts';
import type { NamesChange } from './changes.ts';
import { NameIndex } from './records.ts';
import { encodeName } from './wire.ts';

const setService = (...args: Parameters<typeof service>): NamesChange => ({ kind: 'set-service', service: service(...args) });
const setSlice = (...args: Parameters<typeof slice>): NamesChange => ({ kind: 'set-slice', slice: slice(...args) });
const headless = { ports: [] };

const { ask } = createNamesResponder({
  changes: [
    setService('default/web', '10.43.0.7', {
      ports: [
        { name: 'http', protocol: 'TCP', port: 80 },
        { protocol: 'TCP', port: 81 },
      ],
    }),
    setService('default/both', '10.43.0.8', { clusterIPs: ['10.43.0.8', 'fd00:42::8'] }),
    setService('default/pending', '', { clusterIPs: [] }),
    setService('db/pg', 'None', headless),
    setSlice('db/pg', ['10.42.1.1 pg-0', '10.42.1.2 pg-1', '!10.42.1.3 pg-2', '10.42.1.4', 'fd00:42::4']),
    setService('db/all', 'None', { publishNotReadyAddresses: true }),
    setSlice('db/all', ['!10.42.2.1 all-0']),
    setService('db/none', 'None'),
    setSlice('db/none', ['!10.42.3.1 none-0']),
    setService('default/ext', '', { type: 'ExternalName', clusterIPs: [], externalName: 'web.default.svc.cluster.local.' }),
    setService('default/bad', '', { type: 'ExternalName', clusterIPs: [], externalName: `${'x'.repeat(64)}.test` }),
    setService('default/ring', '', { type: 'ExternalName', clusterIPs: [], externalName: 'ring.default.svc.cluster.local' }),
  ],
});

const soa = 'cluster.local SOA 5 ns.dns.cluster.local';

describe("the cluster's names", () => {
  it.each([
    ['web.default.svc.cluster.local', 'A', 'NOERROR', ['web.default.svc.cluster.local A 5 10.43.0.7']],
    ['WeB.Default.SVC.cluster.LOCAL', 'A', 'NOERROR', ['WeB.Default.SVC.cluster.LOCAL A 5 10.43.0.7']],
    ['both.default.svc.cluster.local', 'AAAA', 'NOERROR', ['both.default.svc.cluster.local AAAA 5 fd00:42::8']],
    [
      '_http._tcp.web.default.svc.cluster.local',
      'SRV',
      'NOERROR',
      ['_http._tcp.web.default.svc.cluster.local SRV 5 80 web.default.svc.cluster.local'],
    ],
    ['7.0.43.10.in-addr.arpa', 'PTR', 'NOERROR', ['7.0.43.10.in-addr.arpa PTR 5 web.default.svc.cluster.local']],
    ['pg-0.pg.db.svc.cluster.local', 'A', 'NOERROR', ['pg-0.pg.db.svc.cluster.local A 5 10.42.1.1']],
    ['10-42-1-4.pg.db.svc.cluster.local', 'A', 'NOERROR', ['10-42-1-4.pg.db.svc.cluster.local A 5 10.42.1.4']],
    ['1.1.42.10.in-addr.arpa', 'PTR', 'NOERROR', ['1.1.42.10.in-addr.arpa PTR 5 pg-0.pg.db.svc.cluster.local']],
    ['all-0.all.db.svc.cluster.local', 'A', 'NOERROR', ['all-0.all.db.svc.cluster.local A 5 10.42.2.1']],
    ['10-42-0-9.default.pod.cluster.local', 'A', 'NOERROR', ['10-42-0-9.default.pod.cluster.local A 5 10.42.0.9']],
    ['fd00-42--9.default.pod.cluster.local', 'AAAA', 'NOERROR', ['fd00-42--9.default.pod.cluster.local AAAA 5 fd00:42::9']],
    ['dns-version.cluster.local', 'TXT', 'NOERROR', ['dns-version.cluster.local TXT 5 1.1.0']],
    ['cluster.local', 'SOA', 'NOERROR', [soa]],
    ['cluster.local', 'NS', 'NOERROR', ['cluster.local NS 5 ns.dns.cluster.local']],
    ['ns.dns.cluster.local', 'A', 'NOERROR', ['ns.dns.cluster.local A 5 169.254.1.1']],
  ])('answers %s %s with %s', async (name, type, rcode, answers) => {
    expect(await ask(name, type)).toEqual({ rcode, answers, authorities: [], flags: { aa: true, tc: false } });
  });

  it.each([
    ['has no IPv6 address', 'web.default.svc.cluster.local', 'AAAA', 'NOERROR'],
    ['is a namespace', 'default.svc.cluster.local', 'A', 'NOERROR'],
    ['is the top of all services', 'svc.cluster.local', 'A', 'NOERROR'],
    ['is the domain', 'cluster.local', 'A', 'NOERROR'],
    ['is a protocol of a service', '_tcp.web.default.svc.cluster.local', 'SRV', 'NOERROR'],
    ['is a namespace of pods', 'default.pod.cluster.local', 'A', 'NOERROR'],
    ['is no service', 'nosuch.default.svc.cluster.local', 'A', 'NXDOMAIN'],
    ['is no namespace', 'web.nosuch.svc.cluster.local', 'A', 'NXDOMAIN'],
    ['is a port without a name', '_81._tcp.web.default.svc.cluster.local', 'SRV', 'NXDOMAIN'],
    ['is another protocol', '_udp.web.default.svc.cluster.local', 'SRV', 'NXDOMAIN'],
    ['is a port of another protocol', '_http._udp.web.default.svc.cluster.local', 'SRV', 'NXDOMAIN'],
    ['is the beginning of a port', '_htt._tcp.web.default.svc.cluster.local', 'SRV', 'NXDOMAIN'],
    ['is a port, with another letter for the underscore', 'xhttp._tcp.web.default.svc.cluster.local', 'SRV', 'NXDOMAIN'],
    ['is a protocol, with another letter for the underscore', 'xtcp.web.default.svc.cluster.local', 'SRV', 'NXDOMAIN'],
    ['has no address yet', 'pending.default.svc.cluster.local', 'A', 'NXDOMAIN'],
    ['has no endpoint that is ready', 'none.db.svc.cluster.local', 'A', 'NXDOMAIN'],
    ['is of an endpoint that is not ready', 'pg-2.pg.db.svc.cluster.local', 'A', 'NXDOMAIN'],
    ['is no address', '10-42-0-999.default.pod.cluster.local', 'A', 'NXDOMAIN'],
    ['leads to a name that the wire cannot hold', 'bad.default.svc.cluster.local', 'A', 'NXDOMAIN'],
  ])('says for how long that is true when a name %s: %s %s %s', async (_, name, type, rcode) => {
    expect(await ask(name, type)).toEqual({ rcode, answers: [], authorities: [soa], flags: { aa: true, tc: false } });
  });

  it('denies reverse names in the ranges of the cluster in the name of their own zone', async () => {
    const said = await ask('99.0.43.10.in-addr.arpa', 'PTR');
    expect(said).toMatchObject({ rcode: 'NXDOMAIN', authorities: ['in-addr.arpa SOA 5 ns.dns.cluster.local'] });
  });

  it('answers IPv6 reverse names', async () => {
    const digits = [...'fd000042000000000000000000000008'].reverse().join('.');
    expect((await ask(`${digits}.ip6.arpa`, 'PTR')).answers).toEqual([`${digits}.ip6.arpa PTR 5 both.default.svc.cluster.local`]);
  });

  it('gives all ready endpoints of a headless service, in another order each time', async () => {
    const orders = new Set<string>();
    for (let n = 0; n < 3; n++) {
      const { answers } = await ask('pg.db.svc.cluster.local');
      expect([...answers].sort()).toEqual(['10.42.1.1', '10.42.1.2', '10.42.1.4'].map((a) => `pg.db.svc.cluster.local A 5 ${a}`));
      orders.add(answers[0]!);
    }
    expect(orders.size).toBe(3);
  });

  it('gives one SRV record for each endpoint of a headless service, with the port of its slice', async () => {
    const { answers } = await ask('_http._tcp.pg.db.svc.cluster.local', 'SRV');
    const targets = ['10-42-1-4', 'fd00-42--4', 'pg-0', 'pg-1'].map((host) => `8080 ${host}.pg.db.svc.cluster.local`);
    expect(answers.map((answer) => answer.split(' SRV 5 ')[1]).sort()).toEqual(targets);
  });

  it('follows an ExternalName within the cluster, and gives up on one that leads to itself', async () => {
    expect((await ask('ext.default.svc.cluster.local')).answers).toEqual([
      'ext.default.svc.cluster.local CNAME 5 web.default.svc.cluster.local',
      'web.default.svc.cluster.local A 5 10.43.0.7',
    ]);
    expect((await ask('ext.default.svc.cluster.local', 'CNAME')).answers).toHaveLength(1);
    expect((await ask('ring.default.svc.cluster.local')).rcode).toBe('SERVFAIL');
  });
});

describe('changes of the index', () => {
  it('leave no name behind: services and slices that come and go in any order end as if they came once', () => {
    const names = fc.constantFrom('a/x', 'a/y', 'b/x');
    const change: fc.Arbitrary<NamesChange> = fc.oneof(
      fc.tuple(names, fc.constantFrom('None', '10.43.0.1', '10.43.0.2')).map(([key, ip]) => setService(key, ip)),
      names.map(
        (key): NamesChange => ({
          kind: 'set-service',
          service: service(key, '', { type: 'ExternalName', externalName: 'x.test' }),
        }),
      ),
      names.map((key): NamesChange => ({ kind: 'delete-service', service: service(key, '') })),
      fc
        .tuple(names, fc.subarray(['10.42.0.1 h-0', '10.42.0.2', '!10.42.0.3 h-1']), fc.constantFrom('a', 'b'))
        .map((args) => setSlice(...args)),
      fc
        .tuple(names, fc.constantFrom('a', 'b'))
        .map(([key, end]): NamesChange => ({ kind: 'delete-slice', slice: slice(key, [], end) })),
    );
    fc.assert(
      fc.property(fc.array(change, { maxLength: 30 }), (changes) => {
        const index = newIndex();
        const empty = index.size;
        const last = new Map<string, NamesChange>();
        for (const each of changes) {
          index.apply(each);
          last.set(keyOf(each), each);
        }
        const kept = [...last.values()];
        const services = kept.flatMap((each) => (each.kind === 'set-service' ? [each.service] : []));
        const slices = kept.flatMap((each) => (each.kind === 'set-slice' ? [each.slice] : []));
        const fresh = newIndex();
        fresh.apply({ kind: 'snapshot', services, slices, pods: [] });
        expect(index.size).toBe(fresh.size);
        index.apply({ kind: 'snapshot', services: [], slices: [], pods: [] });
        expect(index.size).toBe(empty);
      }),
    );
  });

  it('touch only the names of their service', () => {
    const index = newIndex();
    const services = ['a/x', 'a/y'].map((key) => service(key, 'None'));
    const slices = [slice('a/x', ['10.42.0.1']), slice('a/y', ['10.42.0.2'])];
    index.apply({ kind: 'snapshot', services, slices, pods: [] });
    const before = index.find(encodeName('y.a.svc.cluster.local')!)!.sets;
    index.apply(setSlice('a/x', ['10.42.0.9']));
    expect(index.find(encodeName('y.a.svc.cluster.local')!)!.sets).toBe(before);
  });

  it('keep the address of a service that shares it when the other goes', async () => {
    const { ask, apply } = createNamesResponder({ changes: [setService('a/x', '10.43.0.1'), setService('a/y', '10.43.0.1')] });
    expect((await ask('1.0.43.10.in-addr.arpa', 'PTR')).answers).toHaveLength(2);
    apply({ kind: 'delete-service', service: { namespace: 'a', name: 'x' } });
    expect((await ask('1.0.43.10.in-addr.arpa', 'PTR')).answers).toEqual(['1.0.43.10.in-addr.arpa PTR 5 y.a.svc.cluster.local']);
  });

  it('join the reverse names of a cluster address and of an endpoint that has the same one', async () => {
    const { ask, apply } = createNamesResponder({
      changes: [setService('a/x', '10.43.0.1'), setService('a/y', 'None'), setSlice('a/y', ['10.43.0.1 y-0'])],
    });
    const [x, y] = ['x.a', 'y-0.y.a'].map((name) => `1.0.43.10.in-addr.arpa PTR 5 ${name}.svc.cluster.local`);
    const pointers = async () => [...(await ask('1.0.43.10.in-addr.arpa', 'PTR')).answers].sort();
    expect(await pointers()).toEqual([x, y]);
    apply({ kind: 'delete-service', service: { namespace: 'a', name: 'x' } });
    expect(await pointers()).toEqual([y]);
  });

  it('take a service that gets or loses its cluster address, with slices of before', async () => {
    const { ask, apply } = createNamesResponder({ changes: [setService('a/x', '10.43.0.1'), setSlice('a/x', ['10.42.0.1'])] });
    const addresses = async () => (await ask('x.a.svc.cluster.local')).answers.map((answer) => answer.split(' ').at(-1));
    expect(await addresses()).toEqual(['10.43.0.1']);
    apply(setService('a/x', 'None'));
    expect(await addresses()).toEqual(['10.42.0.1']);
    expect((await ask('1.0.43.10.in-addr.arpa', 'PTR')).rcode).toBe('NXDOMAIN');
    apply(setService('a/x', '10.43.0.2'));
    expect(await addresses()).toEqual(['10.43.0.2']);
    expect((await ask('10-42-0-1.x.a.svc.cluster.local')).rcode).toBe('NXDOMAIN');
  });

  it('take endpoints that came before their service, and a slice that moves to another service', async () => {
    const { ask, apply } = createNamesResponder({ changes: [setSlice('a/x', ['10.42.0.1'])] });
    expect((await ask('x.a.svc.cluster.local')).rcode).toBe('NXDOMAIN');
    apply(setService('a/x', 'None'), setService('a/y', 'None'));
    expect((await ask('x.a.svc.cluster.local')).answers).toHaveLength(1);
    apply({ kind: 'set-slice', slice: { ...slice('a/x', ['10.42.0.1']), serviceName: 'y' } });
    expect((await ask('x.a.svc.cluster.local')).rcode).toBe('NXDOMAIN');
    expect((await ask('y.a.svc.cluster.local')).answers).toHaveLength(1);
  });
});

function newIndex(): NameIndex {
  return new NameIndex(encodeName('cluster.local')!, '169.254.1.1');
}

function keyOf(change: NamesChange): string {
  if (change.kind === 'set-service' || change.kind === 'delete-service')
    return `service ${change.service.namespace}/${change.service.name}`;
  if (change.kind === 'set-slice' || change.kind === 'delete-slice')
    return `slice ${change.slice.namespace}/${change.slice.name}`;
  return change.kind;
}

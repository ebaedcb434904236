import { describe, expect, it } from 'vitest';
import type { PodSpec } from '../../api/generated/types.ts';
import { pod } from '../../test/builders/index.ts';
import { computeEtcHosts } from './etc-hosts.ts';
import { computeHostName } from './host-name.ts';
import { computeResolvConf, parseResolvConf } from './resolv-conf.ts';

const build = (spec: PodSpec, name = 'web') => pod(name).container('c').spec(spec).build();
const long = (length: number) => 'a'.repeat(length);

describe('the host name of a pod', () => {
  it.each<[string, PodSpec, string, string | undefined, string]>([
    ['is its name', {}, 'web', undefined, 'web'],
    ['is what it says', { hostname: 'db' }, 'db', undefined, 'db'],
    ['has a domain with a subdomain', { hostname: 'db', subdomain: 'x' }, 'db', 'x.default.svc.cluster.local', 'db'],
    [
      'is the full one',
      { subdomain: 'x', setHostnameAsFQDN: true },
      'web',
      'x.default.svc.cluster.local',
      'web.x.default.svc.cluster.local',
    ],
    ['is the short one without a subdomain', { setHostnameAsFQDN: true }, 'web', undefined, 'web'],
    [
      'is another one whatever else it says',
      { hostnameOverride: 'a.b', hostname: 'db', subdomain: 'x' },
      'a.b',
      undefined,
      'a.b',
    ],
  ])('%s', (_title, spec, hostname, domain, kernel) => {
    expect(computeHostName(build(spec))).toEqual({ hostname, domain, kernel });
  });

  it('is cut where names are longer, and ends in a letter or digit', () => {
    expect(computeHostName(build({}, `${long(60)}-.-b`)).kernel).toBe(long(60));
    expect(computeHostName(build({}, long(64))).kernel).toBe(long(63));
  });

  it('is refused when the full one is longer than the kernel takes', () => {
    const spec = (length: number) => ({ hostname: long(length), subdomain: 'x', setHostnameAsFQDN: true });
    expect(computeHostName(build(spec(36))).kernel).toHaveLength(64);
    expect(() => computeHostName(build(spec(37)))).toThrow('is too long (64 characters is the max, 65 characters requested)');
  });
});

describe('/etc/hosts of a pod', () => {
  it('has the names of the pod at its address', () => {
    expect(computeEtcHosts(build({ hostname: 'db', subdomain: 'x' }), '10.0.0.9', '')?.split('\n')).toEqual([
      '# Kubernetes-managed hosts file.',
      '127.0.0.1\tlocalhost',
      '::1\tlocalhost ip6-localhost ip6-loopback',
      'fe00::0\tip6-localnet',
      'fe00::0\tip6-mcastprefix',
      'fe00::1\tip6-allnodes',
      'fe00::2\tip6-allrouters',
      '10.0.0.9\tdb.x.default.svc.cluster.local\tdb',
      '',
    ]);
  });

  it('has its aliases at the end', () => {
    const hostAliases = [
      { ip: '1.1.1.1', hostnames: ['a', 'b'] },
      { ip: '::2', hostnames: ['c'] },
    ];
    expect(computeEtcHosts(build({ hostAliases }), '10.0.0.9', '')).toMatch(
      /\n10\.0\.0\.9\tweb\n\n# Entries added by HostAliases\.\n1\.1\.1\.1\ta\tb\n::2\tc\n$/,
    );
  });

  it("is the machine's in its network, with aliases below", () => {
    expect(computeEtcHosts(build({ hostNetwork: true }), '10.0.0.9', 'x')).toBeUndefined();
    const spec = { hostNetwork: true, hostAliases: [{ ip: '1.1.1.1', hostnames: ['a'] }] };
    expect(computeEtcHosts(build(spec), undefined, '127.0.0.1 localhost\n')).toBe(
      '# Kubernetes-managed hosts file (host network).\n127.0.0.1 localhost\n\n# Entries added by HostAliases.\n1.1.1.1\ta\n',
    );
  });

  it('is not known before the pod has an address', () => {
    expect(computeEtcHosts(build({}), undefined, '')).toBeUndefined();
  });
});

const machine = parseResolvConf(
  '# made by hand\nnameserver 127.0.0.1 # here\nnameserver 10.0.0.53\ndomain old.example\nsearch a.example b.example\noptions ndots:2 timeout:1\noptions edns0\n',
);

describe('resolv.conf', () => {
  it('is read as the resolver reads it', () => {
    expect(machine).toEqual({
      nameservers: ['127.0.0.1', '10.0.0.53'],
      searches: ['a.example', 'b.example'],
      options: ['ndots:2', 'timeout:1', 'edns0'],
    });
    expect(parseResolvConf('\n;x\nnameserver\n')).toEqual({ nameservers: [], searches: [], options: [] });
  });

  it.each<[string, PodSpec]>([
    ['ClusterFirst', { dnsPolicy: 'ClusterFirst' }],
    ['Default', { dnsPolicy: 'Default', dnsConfig: {} }],
  ])("is the machine's without what a pod cannot reach with %s alone", (_policy, spec) => {
    expect(computeResolvConf(build(spec), machine)?.text).toBe(
      'search a.example b.example\nnameserver 10.0.0.53\noptions ndots:2 timeout:1 edns0\n',
    );
  });

  it("is the engine's in the machine's network", () => {
    const spec: PodSpec = { dnsPolicy: 'ClusterFirstWithHostNet', hostNetwork: true };
    expect(computeResolvConf(build(spec), machine)).toBeUndefined();
  });

  it.each<[string, PodSpec, string]>([
    [
      'has nothing but what the pod says with None',
      {
        dnsPolicy: 'None',
        dnsConfig: {
          nameservers: ['1.1.1.1'],
          searches: ['x.example'],
          options: [{ name: 'ndots', value: '5' }, { name: 'edns0' }],
        },
      },
      'search x.example\nnameserver 1.1.1.1\noptions ndots:5 edns0\n',
    ],
    [
      'has what the pod adds, each once, and no servers that a pod cannot reach',
      {
        dnsPolicy: 'ClusterFirst',
        dnsConfig: {
          nameservers: ['1.1.1.1', '10.0.0.53'],
          searches: ['b.example', 'c.example'],
          options: [{ name: 'ndots', value: '5' }],
        },
      },
      'search a.example b.example c.example\nnameserver 10.0.0.53\nnameserver 1.1.1.1\noptions ndots:5 timeout:1 edns0\n',
    ],
    [
      "has the machine's own servers in its network",
      { dnsPolicy: 'Default', hostNetwork: true, dnsConfig: { options: [{ name: 'rotate' }] } },
      'search a.example b.example\nnameserver 127.0.0.1\nnameserver 10.0.0.53\noptions ndots:2 timeout:1 edns0 rotate\n',
    ],
    ['has one line for servers alone', { dnsPolicy: 'None', dnsConfig: { nameservers: ['::1'] } }, 'nameserver ::1\n'],
  ])('%s', (_title, spec, text) => {
    expect(computeResolvConf(build(spec), machine)).toEqual({ text, problems: [] });
  });

  it('leaves out what is too much, and says so', () => {
    const nameservers = ['1.1.1.1', '1.1.1.2', '1.1.1.3'];
    const searches = Array.from({ length: 31 }, (_, i) => `d${i}.example`);
    const made = computeResolvConf(build({ dnsConfig: { nameservers, searches } }), machine);
    expect(made?.text.match(/nameserver/g)).toHaveLength(3);
    expect(made?.text.split('\n')[0]?.split(' ')).toHaveLength(33);
    expect(made?.problems).toEqual([
      'Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: 10.0.0.53 1.1.1.1 1.1.1.2',
      expect.stringMatching(
        /^Search Line limits were exceeded, some search paths have been omitted, the applied search line is: a\.example /,
      ),
    ]);
    const wide = Array.from({ length: 9 }, (_, i) => `${`${long(60)}.`.repeat(4)}d${i}`);
    expect(computeResolvConf(build({ dnsConfig: { searches: wide } }), machine)?.text.split('\n')[0]?.length).toBeLessThanOrEqual(
      7 + 2048,
    );
  });
});

import { describe, expect, it } from 'vitest';
import type { PodSpec } from '../../api/generated/types.ts';
import { pod } from '../../test/builders/index.ts';
import { type ClusterNames, computeApiAddress, computeResolvConf, parseResolvConf } from './resolv-conf.ts';

const machine = parseResolvConf(
  '# the machine\nsearch lan.example\nnameserver 127.0.0.1\nnameserver 10.0.0.53\noptions edns0 ndots:2\n',
);
const cluster: ClusterNames = { nameservers: ['10.42.0.1', '10.43.0.10'], domain: 'cluster.local', controlPlane: '10.43.0.1' };
const resolver = (spec: PodSpec, names: ClusterNames | undefined = cluster) =>
  computeResolvConf(pod('web').namespace('team').container('c').spec(spec).build(), machine, names);
const search = 'search team.svc.cluster.local svc.cluster.local cluster.local lan.example';
const inCluster = `${search}\nnameserver 10.42.0.1\nnameserver 10.43.0.10\noptions ndots:5\n`;

describe('the address of the API server in a pod', () => {
  const address = (spec: PodSpec, names?: ClusterNames) => computeApiAddress(pod('web').container('c').spec(spec).build(), names);

  it('is a name where the pod asks the cluster for names', () => {
    expect(address({}, cluster)).toBe('berth.default.svc:443');
    expect(address({ dnsPolicy: 'ClusterFirstWithHostNet', hostNetwork: true }, cluster)).toBe('berth.default.svc:443');
  });

  it.each<PodSpec>([{ dnsPolicy: 'Default' }, { dnsPolicy: 'None' }, { hostNetwork: true }])(
    'is an address where it does not: %o',
    (spec) => expect(address(spec, cluster)).toBe('10.43.0.1:443'),
  );

  it('is not there where nothing carries Services', () => expect(address({})).toBeUndefined());
});

describe('the resolv.conf of a pod', () => {
  it.each<[string, PodSpec]>([
    ['says nothing', {}],
    ['says ClusterFirst', { dnsPolicy: 'ClusterFirst' }],
    ['is in the machine’s network and says ClusterFirstWithHostNet', { dnsPolicy: 'ClusterFirstWithHostNet', hostNetwork: true }],
  ])('has the cluster’s servers and search path, then the machine’s, where it %s', (_, spec) =>
    expect(resolver(spec)).toEqual({ text: inCluster, problems: [] }),
  );

  it('is the engine’s where it is in the machine’s network and says ClusterFirst', () =>
    expect(resolver({ dnsPolicy: 'ClusterFirst', hostNetwork: true })).toBeUndefined());

  it.each<[string, PodSpec, ClusterNames | undefined]>([
    ['it says Default', { dnsPolicy: 'Default' }, cluster],
    ['nothing answers the cluster’s names', { dnsPolicy: 'ClusterFirst' }, undefined],
  ])('is the machine’s, without what a pod cannot reach, where %s', (_, spec, names) =>
    expect(computeResolvConf(pod('web').container('c').spec(spec).build(), machine, names)?.text).toBe(
      'search lan.example\nnameserver 10.0.0.53\noptions edns0 ndots:2\n',
    ),
  );

  it('names the node’s resolver with Default where the machine has none that a pod reaches', () => {
    const alone = parseResolvConf('nameserver 127.0.0.1\n');
    const built = pod('web').container('c').spec({ dnsPolicy: 'Default' }).build();
    expect(computeResolvConf(built, alone, cluster)?.text).toBe('nameserver 10.42.0.1\nnameserver 10.43.0.10\n');
  });

  it('has only what dnsConfig says with None', () => {
    const dnsConfig = { nameservers: ['10.9.9.9'], searches: ['x.example'], options: [{ name: 'ndots', value: '1' }] };
    expect(resolver({ dnsPolicy: 'None', dnsConfig })?.text).toBe('search x.example\nnameserver 10.9.9.9\noptions ndots:1\n');
  });

  it('has what dnsConfig says behind the cluster’s, once; an option of the pod replaces the cluster’s', () => {
    const dnsConfig = {
      nameservers: ['10.9.9.9', '10.42.0.1'],
      searches: ['x.example', 'cluster.local'],
      options: [{ name: 'ndots', value: '1' }, { name: 'rotate' }],
    };
    expect(resolver({ dnsConfig })).toEqual({
      text: `${search} x.example\nnameserver 10.42.0.1\nnameserver 10.43.0.10\nnameserver 10.9.9.9\noptions ndots:1 rotate\n`,
      problems: [],
    });
  });

  it('has behind the machine’s with Default what dnsConfig says, without servers that a pod does not reach', () =>
    expect(resolver({ dnsPolicy: 'Default', dnsConfig: { searches: ['x.example'] } })?.text).toBe(
      'search lan.example x.example\nnameserver 10.0.0.53\noptions edns0 ndots:2\n',
    ));

  it('gives up the cluster’s second server before one that the pod names', () =>
    expect(resolver({ dnsConfig: { nameservers: ['10.9.9.8', '10.9.9.9'] } })).toEqual({
      text: `${search}\nnameserver 10.42.0.1\nnameserver 10.9.9.8\nnameserver 10.9.9.9\noptions ndots:5\n`,
      problems: [],
    }));

  it('tells which servers are left out of more than three', () =>
    expect(resolver({ dnsConfig: { nameservers: ['10.9.9.7', '10.9.9.8', '10.9.9.9'] } })?.problems).toEqual([
      'Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: 10.42.0.1 10.9.9.7 10.9.9.8',
    ]));
});

import { describe, expect, it } from 'vitest';
import { networkErrors, networkSettingsOf, serviceRangesOf } from './network-flags.ts';

describe('the ranges of a cluster', () => {
  it('are the server’s to choose where nothing is said', async () => {
    expect(serviceRangesOf({})).toEqual({});
    expect(serviceRangesOf({ clusterCidr: '10.244.0.0/16' })).toEqual({ clusterCidr: '10.244.0.0/16' });
    expect(networkSettingsOf({})).toEqual({});
    expect(await networkErrors({})).toEqual([]);
    expect(await networkErrors({ serviceCidr: '10.96.0.0/12', clusterCidr: '10.244.0.0/16', nodeCidrMaskSize: '26' })).toEqual(
      [],
    );
  });

  it.each([
    [{ serviceCidr: 'x' }, '--service-cidr "x" must be a range of addresses such as "10.42.0.0/16"'],
    [{ serviceNodePortRange: '1-2' }, '--service-node-port-range "1-2" must lie between 1024 and 65535'],
    [{ clusterDomain: 'a..b' }, expect.stringMatching(/^--cluster-domain "a\.\.b" must/)],
    [{ clusterCidr: '10.42.1.0/16' }, '--cluster-cidr "10.42.1.0/16" must be the address of a network: write "10.42.0.0/16"'],
    [{ nodeCidrMaskSize: '12' }, '--node-cidr-mask-size 12 must be between 16 and 30 for 10.42.0.0/16'],
    [{ nodeCidrMaskSize: 'x' }, '--node-cidr-mask-size "x" must be a whole number, e.g. 24'],
    [
      { loadBalancerAddresses: '10.0.0.9-10.0.0.1' },
      '--load-balancer-addresses has "10.0.0.9-10.0.0.1", which ends before it begins',
    ],
    [
      { loadBalancerAddresses: '10.0.0.0/28,10.43.7.1' },
      '--load-balancer-addresses 10.0.0.0/28,10.43.7.1 and --service-cidr 10.43.0.0/16 have addresses in common: give others',
    ],
    [
      { clusterCidr: '10.40.0.0/13' },
      '--cluster-cidr 10.40.0.0/13 and --service-cidr 10.43.0.0/16 have addresses in common: give ranges apart',
    ],
    [
      { serviceCidr: '10.42.64.0/20' },
      '--cluster-cidr 10.42.0.0/16 and --service-cidr 10.42.64.0/20 have addresses in common: give ranges apart',
    ],
  ])('are refused at the start: %j', async (flags, sentence) => expect(await networkErrors(flags)).toEqual([sentence]));

  it('go to the controllers as numbers and texts', () =>
    expect(
      networkSettingsOf({ clusterDomain: 'example.org', nodeCidrMaskSize: '26', loadBalancerAddresses: '192.0.2.1' }),
    ).toEqual({ clusterDomain: 'example.org', nodeCidrMaskSize: 26, loadBalancerAddresses: '192.0.2.1' }));
});

import type { Command } from 'commander';
import { overlap, parseAddressRange } from '../../api/meta/address-range.ts';
import { defaultNetwork } from '../../api/meta/cluster-ranges.ts';
import { subdomainNameError } from '../../api/meta/names.ts';
import type { ServerOptions } from '../../apiserver/main.ts';
import type { RunControllersOptions } from '../../controllers/main.ts';

/** The cluster's network, which server and controllers are told alike: Kubernetes' names. */
export interface NetworkFlags {
  readonly serviceCidr?: string;
  readonly clusterCidr?: string;
  readonly nodeCidrMaskSize?: string;
  readonly clusterDomain?: string;
  readonly loadBalancerAddresses?: string;
}

export function withNetworkFlags(command: Command): Command {
  return command
    .option('--service-cidr <range>', `the addresses of services (default: ${defaultNetwork.serviceCidr})`)
    .option(
      '--cluster-cidr <range>',
      `the addresses of pods, of which each node gets a range (default: ${defaultNetwork.clusterCidr})`,
    )
    .option('--node-cidr-mask-size <n>', 'how many bits the addresses of a node have in common (default: 24)')
    .option(
      '--cluster-domain <domain>',
      `below which the names of services and pods are (default: ${defaultNetwork.clusterDomain})`,
    )
    .option(
      '--load-balancer-addresses <pool>',
      'the addresses of services of type LoadBalancer, e.g. 192.0.2.10-192.0.2.20,192.0.2.32/28 (default: none)',
    );
}

/** Of the server alone. */
export interface NodePortFlags {
  readonly serviceNodePortRange?: string;
}

export function withNodePortFlag(command: Command): Command {
  return command.option('--service-node-port-range <ports>', 'the ports of nodes that services get (default: 30000-32767)');
}

/** As the server takes them; what is not said is its own to choose. */
export function serviceRangesOf(flags: NetworkFlags & NodePortFlags): ServerOptions['serviceRanges'] {
  return { serviceCidr: flags.serviceCidr, nodePorts: flags.serviceNodePortRange, clusterCidr: flags.clusterCidr };
}

type NetworkSettings = Pick<
  RunControllersOptions,
  'clusterCidr' | 'nodeCidrMaskSize' | 'serviceCidr' | 'clusterDomain' | 'loadBalancerAddresses'
>;

/** As the controllers take them; what is not said is theirs to choose. */
export function networkSettingsOf(flags: NetworkFlags): NetworkSettings {
  const { clusterCidr, nodeCidrMaskSize, serviceCidr, clusterDomain, loadBalancerAddresses } = flags;
  const size = nodeCidrMaskSize === undefined ? undefined : Number(nodeCidrMaskSize);
  return { clusterCidr, nodeCidrMaskSize: size, serviceCidr, clusterDomain, loadBalancerAddresses };
}

/** What is wrong with the network: each flag by itself, and the ranges together. A sentence each. */
export async function networkErrors(flags: NetworkFlags & NodePortFlags): Promise<string[]> {
  const errors = [...(await serviceErrors(flags)), ...(await nodeRangeErrors(flags)), ...domainErrors(flags)];
  if (errors.length > 0) return errors;
  const { serviceCidr = defaultNetwork.serviceCidr, clusterCidr = defaultNetwork.clusterCidr } = flags;
  const poolErrors = await loadBalancerErrors(flags, { '--service-cidr': serviceCidr, '--cluster-cidr': clusterCidr });
  if (poolErrors.length > 0) return poolErrors;
  if (!overlap(parseAddressRange(serviceCidr), parseAddressRange(clusterCidr))) return [];
  return [`--cluster-cidr ${clusterCidr} and --service-cidr ${serviceCidr} have addresses in common: give ranges apart`];
}

async function serviceErrors(flags: NetworkFlags & NodePortFlags): Promise<string[]> {
  if (flags.serviceCidr === undefined && flags.serviceNodePortRange === undefined) return [];
  const { parseServiceRanges } = await import('../../apiserver/main.ts');
  return sentencesOf(() => parseServiceRanges(serviceRangesOf(flags)));
}

const isNumber = (text: string): boolean => /^\d{1,3}$/.test(text);

async function nodeRangeErrors(flags: NetworkFlags): Promise<string[]> {
  if (flags.clusterCidr === undefined && flags.nodeCidrMaskSize === undefined) return [];
  const size = flags.nodeCidrMaskSize;
  if (size !== undefined && !isNumber(size)) return [`--node-cidr-mask-size "${size}" must be a whole number, e.g. 24`];
  const { parseNodeRanges } = await import('../../controllers/main.ts');
  return sentencesOf(() => parseNodeRanges(networkSettingsOf(flags)));
}

/** The pool by itself, and beside the other ranges. */
async function loadBalancerErrors(flags: NetworkFlags, ranges: Readonly<Record<string, string>>): Promise<string[]> {
  const { loadBalancerAddresses: text } = flags;
  if (text === undefined) return [];
  const { parseLoadBalancerPool, poolMeets } = await import('../../controllers/main.ts');
  return sentencesOf(() => {
    const pool = parseLoadBalancerPool({ loadBalancerAddresses: text });
    for (const [flag, range] of Object.entries(ranges))
      if (pool && poolMeets(pool, range))
        throw new RangeError(`--load-balancer-addresses ${text} and ${flag} ${range} have addresses in common: give others`);
  });
}

function domainErrors({ clusterDomain }: NetworkFlags): string[] {
  const error = clusterDomain === undefined ? undefined : subdomainNameError(clusterDomain);
  return error === undefined ? [] : [`--cluster-domain "${clusterDomain}" ${error}`];
}

/** The sentence of a RangeError. */
function sentencesOf(parse: () => unknown): string[] {
  try {
    parse();
    return [];
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return [error.message];
  }
}

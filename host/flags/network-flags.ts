import type { Command } from 'commander';
import { overlap, parseAddressRange } from '../../api/meta/address-range.ts';
import type { ServerOptions } from '../../apiserver/main.ts';
import type { RunControllersOptions } from '../../controllers/main.ts';

/** From where services get addresses and ports: Kubernetes' names, of its API server. */
export interface ServiceFlags {
  readonly serviceCidr?: string;
  readonly serviceNodePortRange?: string;
}

export function withServiceFlags(command: Command): Command {
  return command
    .option('--service-cidr <range>', 'the addresses of services (default: 10.43.0.0/16)')
    .option('--service-node-port-range <ports>', 'the ports of nodes that services get (default: 30000-32767)');
}

/** As the server takes them; what is not said is its own to choose. */
export function serviceRangesOf({ serviceCidr, serviceNodePortRange }: ServiceFlags): ServerOptions['serviceRanges'] {
  return { serviceCidr, nodePorts: serviceNodePortRange };
}

/** What is wrong with them: a sentence each. */
async function serviceErrors(flags: ServiceFlags): Promise<string[]> {
  if (flags.serviceCidr === undefined && flags.serviceNodePortRange === undefined) return [];
  const { parseServiceRanges } = await import('../../apiserver/main.ts');
  return sentencesOf(() => parseServiceRanges(serviceRangesOf(flags)));
}

/** From where nodes get their pods' addresses: Kubernetes' names, of its controllers. */
export interface NodeRangeFlags {
  readonly clusterCidr?: string;
  readonly nodeCidrMaskSize?: string;
}

export function withNodeRangeFlags(command: Command): Command {
  return command
    .option('--cluster-cidr <range>', 'the addresses of pods, of which each node gets a range (default: 10.42.0.0/16)')
    .option('--node-cidr-mask-size <n>', 'how many bits the addresses of a node have in common (default: 24)');
}

/** As the controllers take them; what is not said is theirs to choose. */
export function nodeRangeSettingsOf(flags: NodeRangeFlags): Pick<RunControllersOptions, 'clusterCidr' | 'nodeCidrMaskSize'> {
  const { clusterCidr, nodeCidrMaskSize } = flags;
  return { clusterCidr, nodeCidrMaskSize: nodeCidrMaskSize === undefined ? undefined : Number(nodeCidrMaskSize) };
}

const isNumber = (text: string): boolean => /^\d{1,3}$/.test(text);

/** What is wrong with them: a sentence each. */
export async function nodeRangeErrors(flags: NodeRangeFlags): Promise<string[]> {
  if (flags.clusterCidr === undefined && flags.nodeCidrMaskSize === undefined) return [];
  const size = flags.nodeCidrMaskSize;
  if (size !== undefined && !isNumber(size)) return [`--node-cidr-mask-size "${size}" must be a whole number, e.g. 24`];
  const { parseNodeRanges } = await import('../../controllers/main.ts');
  return sentencesOf(() => parseNodeRanges(nodeRangeSettingsOf(flags)));
}

/** What is wrong with the ranges of a server: each by itself, and together. */
export async function networkErrors(flags: ServiceFlags & NodeRangeFlags): Promise<string[]> {
  const errors = [...(await serviceErrors(flags)), ...(await nodeRangeErrors(flags))];
  if (errors.length > 0 || (flags.serviceCidr === undefined && flags.clusterCidr === undefined)) return errors;
  const [{ defaultServiceCidr }, { defaultClusterCidr }] = await Promise.all([
    import('../../apiserver/main.ts'),
    import('../../controllers/main.ts'),
  ]);
  const { serviceCidr = defaultServiceCidr, clusterCidr = defaultClusterCidr } = flags;
  if (!overlap(parseAddressRange(serviceCidr), parseAddressRange(clusterCidr))) return [];
  return [`--cluster-cidr ${clusterCidr} and --service-cidr ${serviceCidr} have addresses in common: give ranges apart`];
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

import type { Command } from 'commander';
import type { ServerOptions } from '../../apiserver/main.ts';

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
export async function serviceErrors(flags: ServiceFlags): Promise<string[]> {
  if (flags.serviceCidr === undefined && flags.serviceNodePortRange === undefined) return [];
  const { parseServiceRanges } = await import('../../apiserver/main.ts');
  return sentencesOf(() => parseServiceRanges(serviceRangesOf(flags)));
}

/** The sentence of a RangeError. */
export function sentencesOf(parse: () => unknown): string[] {
  try {
    parse();
    return [];
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return [error.message];
  }
}

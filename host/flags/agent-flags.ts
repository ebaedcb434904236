import { type Command, InvalidArgumentError } from 'commander';
import { type RegistrationFlags, withRegistrationFlags } from '../join/registration.ts';
import { type ImageFlags, withImageFlags } from './image-flags.ts';
import {
  type PodNetworkKind,
  type PodRoutes,
  podNetworkError,
  podNetworkHelp,
  podRoutesError,
  podRoutesHelp,
} from './pod-network-flag.ts';
import { restartPeriodHelp } from './restart-period.ts';
import { logLevelOption } from './server-flags.ts';
import { parseStaticPodPath, staticPodsHelp } from './static-pods-flag.ts';

const pidsHelp =
  'how many processes and threads each container may have; 0 for no limit (default: 4096, or what the machine allows)';
/** The kernel's own bound of a pids cgroup. */
const mostPids = 4_194_304;

/** How an agent behaves, wherever it runs; `berth up` and `berth join` take these flags too. */
export interface AgentTuning extends ImageFlags, RegistrationFlags {
  readonly sandboxImage?: string;
  readonly maxContainerRestartPeriod?: string;
  readonly maxContainerPids?: number;
  readonly podManifestPath?: string;
  readonly podNetwork?: PodNetworkKind;
  readonly podRoutes?: PodRoutes;
}

export function withAgentTuning(command: Command): Command {
  command
    .option('--sandbox-image <image>', 'the image of pod sandboxes, instead of the one that is made here')
    .option('--pod-network <kind>', podNetworkHelp, checkedBy(podNetworkError))
    .option('--pod-routes <way>', `${podRoutesHelp} (default: auto)`, checkedBy(podRoutesError))
    .option('--pod-manifest-path <path>', staticPodsHelp, parseStaticPodPath)
    .option('--max-container-restart-period <span>', `${restartPeriodHelp} (default: 5m)`)
    .option('--max-container-pids <number>', pidsHelp, parsePids);
  return withImageFlags(withRegistrationFlags(command)).addOption(logLevelOption());
}

function parsePids(text: string): number {
  if (/^\d{1,7}$/.test(text) && Number(text) <= mostPids) return Number(text);
  throw new InvalidArgumentError(`must be a whole number from 0 to ${mostPids}`);
}

const checkedBy =
  (errorOf: (text: string) => string | undefined) =>
  (text: string): string => {
    const error = errorOf(text);
    if (error !== undefined) throw new InvalidArgumentError(error);
    return text;
  };

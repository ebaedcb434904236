import { type Command, Option } from 'commander';
import { logLevels } from '../../api/meta/log-level.ts';
import { defaultSchedulerName, namespaces } from '../../api/meta/well-known.ts';
import { parseDuration } from '../../cli/args/duration.ts';
import { ExitWith } from '../../cli/program/failure.ts';
import type { RunSchedulerOptions } from '../../scheduler/main.ts';
import { type DaemonFlags, localConnection, runDaemon } from '../daemon/daemon.ts';
import { boundHeapGrowth } from '../daemon/heap-growth.ts';
import { schedulerConfigHelp } from '../flags/scheduler-config-flag.ts';
import { defaultMetricsAddress } from '../metrics/serve.ts';
import { defaultDataDir, defaultListen } from '../paths.ts';

interface SchedulerFlags extends DaemonFlags {
  readonly server: string;
  readonly schedulerName?: string;
  readonly config?: string;
  readonly leaderElect: boolean;
  readonly leaderElectLeaseDuration: number;
  readonly leaderElectRenewDeadline: number;
  readonly leaderElectRetryPeriod: number;
  readonly leaderElectResourceName?: string;
  readonly leaderElectResourceNamespace: string;
}

export function registerScheduler(program: Command): void {
  program
    .command('scheduler')
    .description("Run a scheduler in the foreground, beside or instead of the server's")
    .option('--server <address>', 'the address of the API server', defaultListen)
    .option('--data-dir <folder>', "the server's state, where the scheduler's certificate is", defaultDataDir())
    .option('--scheduler-name <name>', `whose pods: those with this spec.schedulerName (default: ${defaultSchedulerName})`)
    .option('--config <file>', `instead of a name: ${schedulerConfigHelp}`)
    .option('--no-leader-elect', 'place pods without asking whether another scheduler of this name does')
    .addOption(spanOption('lease-duration', 'when the others take over from one that is not heard of any more', '15s'))
    .addOption(spanOption('renew-deadline', 'when one that cannot renew its lease stops', '10s'))
    .addOption(spanOption('retry-period', 'how often the lease is renewed and looked at', '2s'))
    .option('--leader-elect-resource-name <name>', "the lease's name (default: the scheduler's)")
    .option('--leader-elect-resource-namespace <namespace>', "the lease's namespace", namespaces.system)
    .option(
      '--metrics-address <address>',
      `where metrics are served, or "off" (default: ${defaultMetricsAddress.scheduler}, or a free port)`,
    )
    .option('--log-file <file>', 'log into this file, with rotation')
    .addOption(new Option('--log-level <level>', 'how much to log').choices(logLevels).default('info'))
    .action(scheduler);
}

/** Kubernetes' names. */
function spanOption(name: string, description: string, usual: string): Option {
  return new Option(`--leader-elect-${name} <time>`, description).argParser(parseDuration).default(parseDuration(usual), usual);
}

function electionOf(flags: SchedulerFlags): RunSchedulerOptions['leaderElection'] {
  if (!flags.leaderElect) return undefined;
  return {
    name: flags.leaderElectResourceName,
    namespace: flags.leaderElectResourceNamespace,
    leaseDurationMs: flags.leaderElectLeaseDuration,
    renewDeadlineMs: flags.leaderElectRenewDeadline,
    retryPeriodMs: flags.leaderElectRetryPeriod,
  };
}

async function scheduler(flags: SchedulerFlags): Promise<void> {
  const { config, server, dataDir, schedulerName = defaultSchedulerName } = flags;
  if (config !== undefined && flags.schedulerName !== undefined)
    throw new ExitWith(1, `--scheduler-name and --config exclude each other: ${config} names its profiles`);
  const { readSchedulerConfig, runScheduler } = await import('../../scheduler/main.ts');
  const { connect, LeadershipOverrunError } = await import('../../client/index.ts');
  const profiles = config === undefined ? undefined : await readSchedulerConfig(config);
  const instance = profiles?.[0]?.schedulerName ?? schedulerName;
  boundHeapGrowth();
  const client = connect(localConnection(dataDir, server, 'scheduler'));
  try {
    await runDaemon({ component: 'scheduler', instance, flags }, ({ logger, metrics, alone, signal }) => {
      const leaderElection = electionOf(flags);
      return runScheduler({ client, schedulerName, profiles, leaderElection, started: alone, logger, metrics }, signal);
    });
  } catch (error) {
    if (!(error instanceof LeadershipOverrunError)) throw error;
    process.stderr.write(`error: ${error.message}\n`);
    // What goes on without the lease ends with the process and not before.
    process.exit(1);
  } finally {
    client.close();
  }
}

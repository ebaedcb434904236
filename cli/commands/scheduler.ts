import { type Command, Option } from 'commander';
import { logLevels } from '../../api/meta/log-level.ts';
import { defaultSchedulerName } from '../../api/meta/well-known.ts';
import { type DaemonFlags, localConnection, runDaemon } from '../daemon.ts';
import { defaultMetricsAddress } from '../metrics/serve.ts';
import { defaultDataDir, defaultListen } from '../paths.ts';

interface SchedulerFlags extends DaemonFlags {
  readonly server: string;
  readonly schedulerName: string;
}

export function registerScheduler(program: Command): void {
  program
    .command('scheduler')
    .description('Run a scheduler in the foreground, beside or instead of the one in the server')
    .option('--server <address>', 'the address of the API server', defaultListen)
    .option('--data-dir <folder>', "the server's state, where the scheduler's certificate is", defaultDataDir())
    .option('--scheduler-name <name>', 'whose pods: those with this spec.schedulerName', defaultSchedulerName)
    .option(
      '--metrics-address <address>',
      `where metrics are served, or "off" (default: ${defaultMetricsAddress.scheduler}, or a free port)`,
    )
    .option('--log-file <file>', 'log into this file, which is kept bounded')
    .addOption(new Option('--log-level <level>', 'how much to log').choices(logLevels).default('info'))
    .action(scheduler);
}

async function scheduler(flags: SchedulerFlags): Promise<void> {
  const { runScheduler } = await import('../../scheduler/main.ts');
  const { connect } = await import('../../client/index.ts');
  const { server, dataDir, schedulerName } = flags;
  const client = connect(localConnection(dataDir, server, 'scheduler'));
  try {
    await runDaemon({ component: 'scheduler', instance: schedulerName, flags }, ({ logger, metrics, alone, signal }) => {
      alone();
      return runScheduler({ client, schedulerName, logger, metrics }, signal);
    });
  } finally {
    client.close();
  }
}

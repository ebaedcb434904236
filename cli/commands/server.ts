import { type Command, Option } from 'commander';
import { connect } from '../../client/index.ts';
import { createLogger, type DaemonFlags, localConnection, runDaemon } from '../daemon.ts';
import { defaultDataDir, defaultListen, localAddress } from '../paths.ts';

interface ServerFlags extends DaemonFlags {
  readonly listen: string;
  readonly advertise?: string;
  readonly backend: 'lmdb' | 'memory';
  readonly scheduler: boolean;
}

export function registerServer(program: Command): void {
  program
    .command('server')
    .description('Run the API server and the scheduler in the foreground')
    .option('--data-dir <folder>', 'where its state lives', defaultDataDir())
    .option('--listen <address>', 'where the API listens', defaultListen)
    .option('--advertise <host>', 'the address under which others reach the API, when it is another')
    .addOption(new Option('--backend <name>', 'where objects are stored').choices(['lmdb', 'memory']).default('lmdb'))
    .option('--no-scheduler', 'the API server only')
    .option('--log-file <file>', 'log into this file, which is kept bounded')
    .option('--log-level <level>', 'debug, info, warn or error', 'info')
    .action(server);
}

async function server(flags: ServerFlags): Promise<void> {
  const { runServer } = await import('../../apiserver/main.ts');
  const logger = createLogger('server', flags);
  await runDaemon(logger, async (signal) => {
    const components: Promise<void>[] = [];
    const options = { dataDir: flags.dataDir, listen: flags.listen, advertise: flags.advertise, backend: flags.backend };
    const ready = ({ address }: { readonly address: string }): void => {
      if (flags.scheduler) components.push(schedule(flags, address, logger, signal));
    };
    await runServer({ ...options, log: logger, ready }, signal);
    await Promise.all(components);
  });
}

/** The scheduler reaches the API as any program does, also in the server's own process. */
async function schedule(
  flags: ServerFlags,
  address: string,
  logger: ReturnType<typeof createLogger>,
  signal: AbortSignal,
): Promise<void> {
  const { runScheduler } = await import('../../scheduler/main.ts');
  const client = connect(localConnection(flags.dataDir, localAddress(address), 'scheduler'));
  try {
    await runScheduler({ client, logger: logger.child({ component: 'scheduler' }) }, signal);
  } finally {
    client.close();
  }
}

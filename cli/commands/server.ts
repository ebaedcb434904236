import { type Command, Option } from 'commander';
import { type DaemonContext, type DaemonFlags, localConnection, runDaemon } from '../daemon.ts';
import { defaultMetricsAddress } from '../metrics/serve.ts';
import { defaultDataDir, defaultListen, localAddress } from '../paths.ts';

interface ServerFlags extends DaemonFlags {
  readonly listen: string;
  readonly advertise?: string;
  readonly backend: 'lmdb' | 'memory';
  readonly scheduler: boolean;
  readonly controllers: boolean;
}

export function registerServer(program: Command): void {
  program
    .command('server')
    .description('Run the API server, the scheduler and the controllers in the foreground')
    .option('--data-dir <folder>', 'where its state lives', defaultDataDir())
    .option('--listen <address>', 'where the API listens', defaultListen)
    .option('--advertise <host>', 'the address under which others reach the API, when it is another')
    .addOption(new Option('--backend <name>', 'where objects are stored').choices(['lmdb', 'memory']).default('lmdb'))
    .option('--no-scheduler', 'without the scheduler')
    .option('--no-controllers', 'without the controllers')
    .option(
      '--metrics-address <address>',
      `where metrics are served, or "off" (default: ${defaultMetricsAddress.server}, or a free port)`,
    )
    .option('--log-file <file>', 'log into this file, which is kept bounded')
    .option('--log-level <level>', 'debug, info, warn or error', 'info')
    .action(server);
}

async function server(flags: ServerFlags): Promise<void> {
  const { runServer } = await import('../../apiserver/main.ts');
  await runDaemon({ component: 'server', flags }, async (daemon) => {
    const { logger: log, metrics, signal } = daemon;
    const running: Promise<void>[] = [];
    const options = { dataDir: flags.dataDir, listen: flags.listen, advertise: flags.advertise, backend: flags.backend };
    const ready = ({ address }: { readonly address: string }): void => {
      if (flags.scheduler) running.push(runComponent('scheduler', { flags, address, daemon }));
      if (flags.controllers) running.push(runComponent('controllers', { flags, address, daemon }));
    };
    await runServer({ ...options, log, metrics, ready }, signal);
    await Promise.all(running);
  });
}

interface ComponentInput {
  readonly flags: ServerFlags;
  readonly address: string;
  readonly daemon: DaemonContext;
}

const components = {
  scheduler: async () => (await import('../../scheduler/main.ts')).runScheduler,
  controllers: async () => (await import('../../controllers/main.ts')).runControllers,
};

/** A component reaches the API as any program does, also in the server's own process: with its own certificate. */
async function runComponent(name: keyof typeof components, { flags, address, daemon }: ComponentInput): Promise<void> {
  const run = await components[name]();
  const { connect } = await import('../../client/index.ts');
  const client = connect(localConnection(flags.dataDir, localAddress(address), name));
  try {
    await run({ client, logger: daemon.logger.child({ component: name }) }, daemon.signal);
  } finally {
    client.close();
  }
}

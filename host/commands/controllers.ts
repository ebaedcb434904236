import { type Command, Option } from 'commander';
import { logLevels } from '../../api/meta/log-level.ts';
import { ExitWith } from '../../cli/program/failure.ts';
import type { ConnectOptions } from '../../client/index.ts';
import { type DaemonFlags, localConnection, runDaemon } from '../daemon/daemon.ts';
import { boundHeapGrowth } from '../daemon/heap-growth.ts';
import { type ControllersFlags, controllersErrors, controllersOptions, withControllersFlag } from '../flags/controllers-flags.ts';
import { type LostNodeFlags, lostNodeErrors, rateKeys, withLostNodeFlags } from '../flags/lost-node-flags.ts';
import { type NetworkFlags, networkErrors, withNetworkFlags } from '../flags/network-flags.ts';
import { defaultMetricsAddress } from '../metrics/serve.ts';
import { defaultDataDir, defaultListen } from '../paths.ts';

interface ControllersCommandFlags extends DaemonFlags, ControllersFlags, LostNodeFlags, NetworkFlags {
  readonly server: string;
}

export function registerControllers(program: Command): void {
  const command = program
    .command('controllers')
    .description("Run the controllers in the foreground, beside or instead of the server's")
    .option('--server <address>', 'the address of the API server', defaultListen)
    .option('--data-dir <folder>', "the server's state, where the controllers' certificate is", defaultDataDir());
  withControllersFlag(command);
  withLostNodeFlags(command, rateKeys);
  withNetworkFlags(command);
  command
    .option(
      '--metrics-address <address>',
      `where metrics are served, or "off" (default: ${defaultMetricsAddress.controllers}, or a free port)`,
    )
    .option('--log-file <file>', 'log into this file, with rotation')
    .addOption(new Option('--log-level <level>', 'how much to log').choices(logLevels).default('info'))
    .action(controllers);
}

async function controllers(flags: ControllersCommandFlags): Promise<void> {
  const errors = [...lostNodeErrors(flags), ...(await networkErrors(flags)), ...(await controllersErrors(flags))];
  if (errors.length > 0) throw new ExitWith(1, errors.join('\n'));
  const { runElected } = await import('../processes/elected-controllers.ts');
  const { connect } = await import('../../client/index.ts');
  boundHeapGrowth();
  await runDaemon({ component: 'controllers', flags }, ({ logger, metrics, alone, signal }) => {
    alone();
    const connection = localConnection(flags.dataDir, flags.server, 'controllers');
    const open = (leaseTerm: ConnectOptions['leaseTerm']) => connect({ ...connection, leaseTerm });
    return runElected({ connect: open, options: { ...controllersOptions(flags), logger, metrics } }, signal);
  });
}

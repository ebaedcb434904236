import { resolve } from 'node:path';
import type { Command } from 'commander';
import { ExitWith } from '../../cli/program/failure.ts';
import { defaultDataDir, startCommand } from '../paths.ts';
import { withInstallation } from '../processes/on-this-machine.ts';
import { processNames, stopSupervised } from '../processes/processes.ts';
import { removeServiceFiles } from '../service/service-manager.ts';
import { readService } from '../service/service-record.ts';
import { createSteps } from '../steps.ts';
import { confirmPurge, purgeAll, requireTerminal } from './down.ts';

interface UninstallFlags {
  readonly dataDir: string;
  readonly purge?: boolean;
  readonly yes?: boolean;
  readonly force?: boolean;
}

export function registerUninstall(program: Command): void {
  program
    .command('uninstall')
    .description('Stop and remove the services of "berth install"; data and running containers stay')
    .option('--data-dir <folder>', 'where its state lives', defaultDataDir())
    .option('--purge', 'also remove every container, image and file that Berth made here')
    .option('--force', 'also remove files of the service that were changed by hand, which are kept as FILE.bak otherwise')
    .option('-y, --yes', 'with --purge: do not ask; required without a terminal')
    .action(uninstall);
}

async function uninstall(flags: UninstallFlags): Promise<void> {
  const dataDir = resolve(flags.dataDir);
  const steps = createSteps(process.stdout, process.stderr);
  await withInstallation(dataDir, 'berth uninstall', steps, async () => {
    if (readService(dataDir) === undefined)
      throw new ExitWith(
        1,
        `Berth in ${dataDir} is no service of this machine; "berth down" stops it, "berth down --purge" removes it`,
      );
    if (process.getuid?.() !== 0) throw new ExitWith(1, "services of the machine are root's to remove: run it with sudo");
    // Before anything is stopped: what cannot be purged now is better left as it is.
    const { preparePurge } = await import('../../agent/main.ts');
    if (flags.purge && !flags.yes) requireTerminal();
    const scope = flags.purge ? await preparePurge(dataDir) : undefined;
    if (scope !== undefined && !flags.yes) await confirmPurge(dataDir);
    steps.wait('stopping the services');
    await stopSupervised(dataDir, processNames.toReversed());
    steps.ok('Berth has stopped');
    for (const { kind, what } of removeServiceFiles(dataDir, { force: flags.force === true })) steps.ok(`${kind} ${what}`);
    if (scope !== undefined) return purgeAll(scope, steps.say);
    steps.say(
      `\nData in ${dataDir} and running containers stay: "${startCommand(dataDir)}" goes on with them, "berth down --purge" removes them.`,
    );
  });
}

import { resolve } from 'node:path';
import type { Command } from 'commander';
import { defaultDataDir } from '../paths.ts';
import { processNames, stopSupervised } from '../processes.ts';

interface DownFlags {
  readonly dataDir: string;
  readonly purge?: boolean;
}

export function registerDown(program: Command): void {
  program
    .command('down')
    .description('Stop Berth on this machine; its containers go on running')
    .option('--data-dir <folder>', 'where its state lives', defaultDataDir())
    .option('--purge', 'also remove every container, image and file that Berth made here')
    .action(async (flags: DownFlags) => {
      const dataDir = resolve(flags.dataDir);
      const ran = await stopSupervised(dataDir, processNames.toReversed());
      process.stdout.write(ran.length > 0 ? 'Berth has stopped.\n' : `Berth did not run from ${flags.dataDir}.\n`);
      if (!flags.purge) return;
      const { purge } = await import('../../agent/main.ts');
      for await (const done of purge(dataDir))
        process.stdout.write(`removed ${done}
`);
      const { removeContext } = await import('../../client/index.ts');
      await removeContext('berth');
      process.stdout.write('removed context "berth" from the configuration\n');
    });
}

import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { ExitWith } from '../../cli/program/failure.ts';
import { createProgress } from '../../cli/terminal/progress.ts';
import { defaultDataDir, startCommand } from '../paths.ts';
import { refuseRunning } from '../processes/running-server.ts';
import { showRestored } from '../restore/show-restored.ts';

interface RestoreFlags {
  readonly dataDir: string;
  readonly force?: boolean;
}

export function registerRestore(program: Command): void {
  program
    .command('restore')
    .description('Restore the store of a stopped Berth from a backup (-: standard input)')
    .argument('<file>', 'what "berth backup" wrote')
    .option('--data-dir <folder>', 'where its state lives', defaultDataDir())
    .option('--force', 'replace an existing store, which is moved aside')
    .action(restore);
}

async function restore(file: string, flags: RestoreFlags): Promise<void> {
  const dataDir = resolve(flags.dataDir);
  const { lockUp } = await import('../../agent/main.ts');
  const { restoreFiles } = await import('../../apiserver/main.ts');
  const total = file === '-' ? undefined : await sizeOf(file);
  const lock = await lockUp(dataDir, 'berth restore', (other) => process.stderr.write(`waiting for another command: ${other}\n`));
  try {
    refuseRunning(dataDir);
    const bytes: AsyncIterable<Buffer> = file === '-' ? process.stdin : createReadStream(file, { highWaterMark: 1024 * 1024 });
    const backup = showRestored(bytes, total, createProgress());
    const name = file === '-' ? 'standard input' : file;
    const { header, objects, aside, isUnread } = await restoreFiles({ dataDir, backup, name, force: flags.force === true });
    const lines = [
      `restored ${objects} objects into ${dataDir}, as they were at ${header.createdAt} (version ${header.revision})`,
      ...(aside === undefined ? [] : [`the store that was there is now ${aside}; remove it when you are sure`]),
      ...(isUnread ? ['that one cannot be read: the versions of the new one go on from what the time says'] : []),
      `start it with "${startCommand(dataDir)}"`,
    ];
    process.stdout.write(`${lines.join('\n')}\n`);
  } finally {
    await lock.release();
  }
}

async function sizeOf(file: string): Promise<number | undefined> {
  try {
    const found = await stat(file);
    if (found.isDirectory()) throw new ExitWith(1, `read ${file}: it is a folder; name the file that "berth backup" wrote`);
    // What a pipe will bring is not known.
    return found.isFile() ? found.size : undefined;
  } catch (error) {
    if (error instanceof ExitWith) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    throw new ExitWith(1, `read ${file}: ${code === 'ENOENT' ? 'there is no such file' : message}`);
  }
}

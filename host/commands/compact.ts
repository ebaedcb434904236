import { resolve } from 'node:path';
import type { Command } from 'commander';
import { defaultDataDir, startCommand } from '../paths.ts';
import { refuseRunning } from '../processes/running-server.ts';

interface CompactFlags {
  readonly dataDir: string;
}

export function registerCompact(program: Command): void {
  program
    .command('compact')
    .description('Compact the store of a stopped Berth')
    .option('--data-dir <folder>', 'where its state lives', defaultDataDir())
    .action(compact);
}

const kibi = 1024;

async function compact(flags: CompactFlags): Promise<void> {
  const dataDir = resolve(flags.dataDir);
  const { lockUp } = await import('../../agent/main.ts');
  const { compactFiles } = await import('../../apiserver/main.ts');
  const say = (text: string): void => void process.stderr.write(`${text}\n`);
  const lock = await lockUp(dataDir, 'berth compact', (other) => say(`waiting for another command: ${other}`));
  try {
    refuseRunning(dataDir);
    const { before, after } = await compactFiles(dataDir, say);
    const start = startCommand(dataDir);
    process.stdout.write(`the file of the store had ${inKibi(before)} and has ${inKibi(after)}; start it with "${start}"\n`);
  } finally {
    await lock.release();
  }
}

function inKibi(bytes: number): string {
  return `${Math.ceil(bytes / kibi)} KiB`;
}

import { type Command, InvalidArgumentError, Option } from 'commander';
import { findNodes } from '../args/node-names.ts';
import type { DrainFlags } from '../drain/drain-nodes.ts';
import { withSession } from '../session.ts';
import { withDryRunFlag } from '../write/write-options.ts';

export function registerDrain(program: Command): void {
  const command = program
    .command('drain')
    .description('Mark nodes as unschedulable and evict their pods, within their disruption budgets')
    .argument('[node...]', 'names of nodes')
    .option('-l, --selector <selector>', 'nodes with these labels')
    .option('--ignore-daemonsets', 'ignore the pods of DaemonSets, which would be recreated')
    .option('--delete-emptydir-data', 'also pods with data in an emptyDir, which is lost')
    .option('--force', 'also pods that no controller would recreate')
    .addOption(new Option('--grace-period <seconds>', 'how long a pod may take to end').argParser(parseSeconds(-1)))
    .option('--timeout <duration>', 'the timeout; 0s: none', '0s')
    .option('--pod-selector <selector>', 'only pods with these labels')
    .option('--disable-eviction', 'delete the pods, regardless of their budgets')
    .addOption(
      new Option(
        '--skip-wait-for-delete-timeout <seconds>',
        'do not wait for pods that have been leaving for longer; 0: wait for all',
      ).argParser(parseSeconds(0)),
    )
    .action(async (words: string[], flags: DrainFlags, command: Command) => {
      await withSession(command, async (session) => {
        const nodes = await findNodes(session, words, flags, 'drain');
        const { drainNodes } = await import('../drain/drain-nodes.ts');
        await drainNodes(session, nodes, flags);
      });
    });
  withDryRunFlag(command);
}

function parseSeconds(least: number): (text: string) => number {
  return (text) => {
    const seconds = Number(text);
    if (!/^-?\d+$/.test(text) || !Number.isSafeInteger(seconds) || seconds < least)
      throw new InvalidArgumentError('It takes a whole number of seconds.');
    return seconds;
  };
}

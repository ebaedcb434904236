import type { Command } from 'commander';
import { findNodes, type NodeSelection } from '../args/node-names.ts';
import { setCordon } from '../drain/cordon.ts';
import { describeFailure, ExitWith } from '../program/failure.ts';
import { withSession } from '../session.ts';
import { type DryRun, withDryRunFlag } from '../write/write-options.ts';

interface CordonFlags extends NodeSelection {
  readonly dryRun?: DryRun;
}

export function registerCordon(program: Command): void {
  register(program, 'cordon', 'Mark nodes as unschedulable; running pods stay');
}

export function registerUncordon(program: Command): void {
  register(program, 'uncordon', 'Mark nodes as schedulable');
}

function register(program: Command, verb: 'cordon' | 'uncordon', description: string): void {
  const command = program
    .command(verb)
    .description(description)
    .argument('[node...]', 'names of nodes')
    .option('-l, --selector <selector>', 'those with these labels')
    .action(async (words: string[], flags: CordonFlags, command: Command) => {
      await withSession(command, async (session) => {
        let failed = 0;
        for (const node of await findNodes(session, words, flags, verb)) {
          try {
            await setCordon(session, node, { wanted: verb === 'cordon', dryRun: flags.dryRun });
          } catch (error) {
            failed++;
            process.stderr.write(`error: node/${node.metadata?.name}: ${describeFailure(error)}\n`);
          }
        }
        if (failed > 0) throw new ExitWith(1);
      });
    });
  withDryRunFlag(command);
}

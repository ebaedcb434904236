import type { Command } from 'commander';
import { registerMetadataCommand } from '../write/metadata-command.ts';

export function registerLabel(program: Command): void {
  registerMetadataCommand(program, {
    verb: 'label',
    noun: 'label',
    field: 'labels',
    done: (sets) => (sets ? 'labeled' : 'unlabeled'),
    unchanged: 'not labeled',
  });
}

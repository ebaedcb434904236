import type { Command } from 'commander';
import { registerMetadataCommand } from '../write/metadata-command.ts';

export function registerAnnotate(program: Command): void {
  registerMetadataCommand(program, {
    verb: 'annotate',
    noun: 'annotation',
    field: 'annotations',
    done: () => 'annotated',
    unchanged: 'not annotated',
  });
}

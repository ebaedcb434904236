import { type Command, Option } from 'commander';
import { withChunkSizeFlag } from '../args/chunk-size.ts';
import type { DescribeFlags } from '../describe/describe.ts';
import { withSession } from '../session.ts';
import { withManifestFlags } from '../write/write-options.ts';

export function registerDescribe(program: Command): void {
  const command = program
    .command('describe')
    .description('Show details of objects, with their events')
    .argument('[type...]', 'TYPE [NAME or beginning of names...] or TYPE/NAME...')
    .option('-A, --all-namespaces', 'of all namespaces')
    .option('-l, --selector <selector>', 'those with these labels')
    .addOption(new Option('--show-events <bool>', 'with what happened to them').choices(['true', 'false']).default('true'))
    .action(async (words: string[], flags: DescribeFlags, own: Command) => {
      const { describe } = await import('../describe/describe.ts');
      await withSession(own, (session) => describe(session, words, flags));
    });
  withManifestFlags(withChunkSizeFlag(command), 'those that these manifests name');
}

import type { Command } from 'commander';

/**
 * Everything it knows is in the program: no server is asked. The texts are large and are loaded by this command alone.
 */
export function registerExplain(program: Command): void {
  program
    .command('explain')
    .description('Show the documentation of a kind or field, and whether Berth supports it')
    .argument('<path>', 'TYPE or TYPE.FIELD.FIELD, e.g. pod.spec.containers')
    .option('--recursive', 'all fields below, with their types')
    .action(async (path: string, flags: { readonly recursive?: boolean }) => {
      const { locate } = await import('../explain/locate.ts');
      const { explainPlace, explainTree } = await import('../explain/print.ts');
      const place = locate(path);
      if (flags.recursive) process.stdout.write(explainTree(place));
      else {
        const { comments } = await import('../../api/generated/comments.ts');
        process.stdout.write(explainPlace(place, comments));
      }
    });
}

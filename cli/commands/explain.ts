import type { Command } from 'commander';
import { badRequest } from '../../api/errors/index.ts';
import { isCustom } from '../../api/kinds/custom/custom-kind.ts';
import { resourceOf } from '../../api/kinds/identity.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import { withSession } from '../session.ts';

interface ExplainFlags {
  readonly apiVersion?: string;
  readonly recursive?: boolean;
}

/**
 * What it knows of Berth's kinds is in the program, and no server is asked; of kinds that users added it reads the
 * definition. The texts are large and are loaded by this command alone.
 */
export function registerExplain(program: Command): void {
  program
    .command('explain')
    .description('Show the documentation of a kind or field, and whether Berth supports it')
    .argument('<path>', 'TYPE or TYPE.FIELD.FIELD, e.g. pod.spec.containers')
    .option('--api-version <version>', 'in this version of the kind, e.g. autoscaling/v1')
    .option('--recursive', 'all fields below, with their types')
    .action(async (path: string, flags: ExplainFlags, command: Command) => {
      const { locate, readPath } = await import('../explain/locate.ts');
      const { kind, names } = readPath(path, flags.apiVersion);
      // Metadata are those of every kind.
      if (isCustom(kind) && names[0] !== 'metadata') {
        await explainCustom(command, kind, names, flags);
        return;
      }
      const { explainPlace, explainTree } = await import('../explain/print.ts');
      const place = locate(path, flags.apiVersion);
      if (flags.recursive) process.stdout.write(explainTree(place));
      else {
        const { comments } = await import('../../api/generated/comments.ts');
        process.stdout.write(explainPlace(place, comments));
      }
    });
}

async function explainCustom(command: Command, kind: Kind, names: readonly string[], { recursive }: ExplainFlags): Promise<void> {
  const [{ explainSchema, explainSchemaTree, schemaOf, withObjectMembers }, { comments }] = await Promise.all([
    import('../explain/schema.ts'),
    import('../../api/generated/comments.ts'),
  ]);
  const name = resourceOf(kind);
  await withSession(command, async ({ client }) => {
    const schema = schemaOf(kind, await client.objects.get('CustomResourceDefinition', { name }));
    if (!schema) throw badRequest(`the definition "${name}" has no schema of ${kind.apiVersion} any more: try again`);
    const whole = withObjectMembers(schema, comments);
    process.stdout.write((recursive ? explainSchemaTree : explainSchema)(kind, whole, names));
  });
}

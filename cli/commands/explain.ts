import { type Command, Option } from 'commander';
import { badRequest } from '../../api/errors/index.ts';
import { isCustom } from '../../api/kinds/custom/custom-kind.ts';
import { resourceOf } from '../../api/kinds/identity.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { withSession } from '../session.ts';

interface ExplainFlags {
  readonly apiVersion?: string;
  readonly recursive?: boolean;
  readonly output: (typeof outputs)[number];
}

const outputs = ['plaintext', 'typescript', 'json-schema'] as const;

type SchemaOf = typeof import('../explain/schema.ts').schemaOf;

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
    .addOption(
      new Option('-o, --output <format>', 'of a custom kind: its types, for programs').choices(outputs).default('plaintext'),
    )
    .action(async (path: string, flags: ExplainFlags, command: Command) => {
      const { locate, readPath } = await import('../explain/locate.ts');
      const { kind, names } = readPath(path, flags.apiVersion);
      if (flags.output !== 'plaintext') {
        await explainForPrograms(command, kind, names, flags.output);
        return;
      }
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
  const whole = withObjectMembers(await readSchema(command, kind, schemaOf), comments);
  process.stdout.write((recursive ? explainSchemaTree : explainSchema)(kind, whole, names));
}

async function explainForPrograms(
  command: Command,
  kind: Kind,
  names: readonly string[],
  output: Exclude<ExplainFlags['output'], 'plaintext'>,
): Promise<void> {
  if (!isCustom(kind))
    throw badRequest(
      `-o ${output} is for custom kinds: the types of ${kind.plural} are in the package "berth", their schema at /openapi/v3`,
    );
  if (names.length > 0) throw badRequest(`-o ${output} is of a whole kind: berth explain ${kind.singular} -o ${output}`);
  const [{ schemaOf }, { formOf }] = await Promise.all([import('../explain/schema.ts'), import('../explain/forms.ts')]);
  process.stdout.write(formOf(output, kind, await readSchema(command, kind, schemaOf)));
}

/** The schema of a custom kind's version, as the server has it now. */
async function readSchema(command: Command, kind: Kind, schemaOf: SchemaOf): Promise<JsonObject> {
  const name = resourceOf(kind);
  let schema: JsonObject | undefined;
  await withSession(command, async ({ client }) => {
    schema = schemaOf(kind, await client.objects.get('CustomResourceDefinition', { name }));
  });
  if (!schema) throw badRequest(`the definition "${name}" has no schema of ${kind.apiVersion} any more: try again`);
  return schema;
}

import type { Command } from 'commander';
import { kindOf } from '../../api/kinds/index.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { exportProtos } from '../proto/export-protos.ts';
import { withSession } from '../session.ts';

/** For programs in other languages; a server is asked for its custom kinds alone. */
export function registerProto(program: Command): void {
  const proto = program.command('proto').description("The API's definition, for programs in other languages");
  proto
    .command('export')
    .description('Write the .proto files of this version')
    .argument('<folder>', 'where to; made when it is missing')
    .option('--without-optional', 'for compilers before protoc 3.15, e.g. python3-grpc-tools of Debian 12')
    .option('--custom-kinds', "also the server's custom kinds, as TypeScript and as JSON Schema, below custom/")
    .action(async (folder: string, flags: ExportFlags, command: Command) => {
      const definitions = flags.customKinds ? await readDefinitions(command) : undefined;
      const files = await exportProtos(folder, { withoutOptional: flags.withoutOptional === true });
      process.stdout.write(`wrote ${files.length} files below ${folder}; compile them with "protoc -I ${folder}"\n`);
      if (!definitions) return;
      const { exportCustomKinds } = await import('../proto/export-custom-kinds.ts');
      const count = await exportCustomKinds(folder, definitions);
      process.stdout.write(`wrote ${count} files of custom kinds below ${folder}/custom\n`);
    });
}

interface ExportFlags {
  readonly withoutOptional?: boolean;
  readonly customKinds?: boolean;
}

async function readDefinitions(command: Command): Promise<JsonObject[]> {
  const { listAllJson } = await import('../get/listing.ts');
  let definitions: JsonObject[] = [];
  await withSession(command, async ({ client }) => {
    definitions = await listAllJson(client.objects, kindOf('CustomResourceDefinition')!, {});
  });
  return definitions;
}

import type { Command } from 'commander';
import { exportProtos } from '../proto/export-protos.ts';

/** For programs in other languages; no server is asked. */
export function registerProto(program: Command): void {
  const proto = program.command('proto').description("The API's definition, for programs in other languages");
  proto
    .command('export')
    .description('Write the .proto files of this version')
    .argument('<folder>', 'where to; made when it is missing')
    .option('--without-optional', 'for compilers before protoc 3.15, e.g. python3-grpc-tools of Debian 12')
    .action(async (folder: string, flags: { readonly withoutOptional?: boolean }) => {
      const files = await exportProtos(folder, { withoutOptional: flags.withoutOptional === true });
      process.stdout.write(`wrote ${files.length} files below ${folder}; compile them with "protoc -I ${folder}"\n`);
    });
}

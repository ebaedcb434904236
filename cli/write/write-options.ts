import { type Command, Option } from 'commander';
import { nearestWord } from '../../api/codec/nearest.ts';
import { badRequest } from '../../api/errors/index.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import type { JsonObject, ObjectsClient } from '../../client/index.ts';
import { kustomizationSource } from '../manifests/kustomization-source.ts';
import type { OutputFlags } from '../printers/formats.ts';
import type { ObjectOutput } from '../printers/output.ts';
import { readObjectOutput, withOutputFlags } from '../printers/output-flags.ts';
import { typeName } from '../printers/type-name.ts';

/** none: for real; client: nothing is sent; server: the server checks everything and stores nothing. */
export type DryRun = 'none' | 'client' | 'server';

/** The flags of commands that write. */
export interface WriteFlags extends OutputFlags {
  readonly dryRun?: DryRun;
  readonly fieldManager?: string;
  readonly showManagedFields?: boolean;
}

type ObjectWriteOptions = Parameters<ObjectsClient['create']>[2];

/** Adds --dry-run. */
export function withDryRunFlag(command: Command): Command {
  const where = new Option('--dry-run [where]', 'store nothing: client only prints, server checks everything');
  return command.addOption(where.argParser(parseDryRun).preset('client'));
}

/** Adds --dry-run, -o, --show-managed-fields and --field-manager. */
export function withWriteFlags(command: Command): Command {
  return withManagedFieldsFlag(withFieldManagerFlag(withOutputFlags(withDryRunFlag(command), 'print the object: ')));
}

/** Adds --field-manager. */
export function withFieldManagerFlag(command: Command): Command {
  return command.option('--field-manager <name>', 'the name of the field manager in managedFields');
}

/** Adds --show-managed-fields. */
export function withManagedFieldsFlag(command: Command): Command {
  return command.option('--show-managed-fields', 'with -o json or yaml: also the managed fields');
}

/**
 * Adds -f, -k and -R. What -k names is one of the file names. Where other words follow, each -f takes one path only;
 * else it takes what the shell makes of "*.yaml", too.
 */
export function withManifestFlags(command: Command, what: string, { required = false, wordsFollow = false } = {}): Command {
  const option = wordsFollow
    ? new Option('-f, --filename <path>', what).argParser((path, before: string[] = []) => [...before, path])
    : new Option('-f, --filename <path...>', what);
  return command
    .addOption(option.makeOptionMandatory(required))
    .on('option:kustomize', (folder: string) => {
      const before: readonly string[] = command.getOptionValue('filename') ?? [];
      command.setOptionValueWithSource('filename', [...before, kustomizationSource(folder)], 'cli');
    })
    .option('-k, --kustomize <dir>', 'instead: what the kustomization in this folder builds')
    .option('-R, --recursive', 'with -f: also the folders in a folder');
}

function parseDryRun(text: string): DryRun {
  if (text === 'none' || text === 'client' || text === 'server') return text;
  const close = nearestWord(text, ['none', 'client', 'server']);
  throw badRequest(`--dry-run=${text}: it takes client, server or none${close ? `; did you mean "${close}"?` : ''}`);
}

/** How a write is sent to the server; `manager` is the command's own name, for who gives no other. */
export function writeOptions(flags: WriteFlags, manager: string): NonNullable<ObjectWriteOptions> {
  return { fieldManager: flags.fieldManager ?? manager, dryRun: flags.dryRun === 'server' ? ['All'] : [] };
}

/** Said behind what would have been done. */
export const dryRunNotes: Readonly<Record<DryRun, string>> = { none: '', client: ' (dry run)', server: ' (server dry run)' };

/** What a command that writes says of each object: a line "pod/web created", or the object as `-o` wants it. */
export class WritePrinter {
  readonly #flags: WriteFlags;
  readonly #output: ObjectOutput | undefined;
  #printed = 0;

  private constructor(flags: WriteFlags, output: ObjectOutput | undefined) {
    this.#flags = flags;
    this.#output = output;
  }

  /** Throws for a bad `-o`, so that nothing is written before that is known. */
  static async for(flags: WriteFlags): Promise<WritePrinter> {
    return new WritePrinter(flags, await readObjectOutput(flags));
  }

  async print(kind: Kind, object: JsonObject, done: string): Promise<void> {
    if (!this.#output) {
      const { name = '' } = object.metadata as { name?: string };
      process.stdout.write(`${typeName(kind)}/${name} ${done}${dryRunNotes[this.#flags.dryRun ?? 'none']}\n`);
      return;
    }
    const { printObjects } = await import('../printers/objects.ts');
    const separator = this.#printed++ > 0 && this.#output.format === 'yaml' ? '---\n' : '';
    const { showManagedFields } = this.#flags;
    const options = { single: true, headers: this.#printed === 1, showManagedFields };
    process.stdout.write(separator + printObjects([object], this.#output, options));
  }
}

import { readFileSync } from 'node:fs';
import { type Command, Option } from 'commander';
import { badRequest } from '../../api/errors/index.ts';
import { isCustom } from '../../api/kinds/custom/custom-kind.ts';
import { kindWord } from '../../api/kinds/custom/kind-word.ts';
import type { PatchType } from '../../client/index.ts';
import { checkSubresource } from '../args/subresource.ts';
import { findTargets, type Target, type TargetFlags } from '../get/targets.ts';
import { describeFailure, ExitWith } from '../program/failure.ts';
import { type Session, withSession } from '../session.ts';
import { isUnchanged } from '../write/is-unchanged.ts';
import { type WriteFlags, WritePrinter, withManifestFlags, withWriteFlags, writeOptions } from '../write/write-options.ts';

interface PatchFlags extends TargetFlags, WriteFlags {
  readonly patch?: string;
  readonly patchFile?: string;
  readonly type: PatchType;
  readonly subresource?: string;
}

export function registerPatch(program: Command): void {
  const command = program
    .command('patch')
    .description('Change fields of objects')
    .argument('[type...]', 'TYPE NAME... or TYPE/NAME...')
    .option('-p, --patch <patch>', 'the change, as JSON or YAML')
    .option('--patch-file <file>', 'a file with the change')
    .addOption(
      new Option('--type <type>', 'strategic merges lists by key, merge replaces them, json is a list of operations')
        .choices(['strategic', 'merge', 'json'])
        .default('strategic'),
    )
    .addOption(
      new Option('--subresource <name>', 'change this instead of the object').choices([
        'status',
        'scale',
        'resize',
        'ephemeralcontainers',
      ]),
    )
    .action(async (words: string[], flags: PatchFlags, command: Command) => {
      const patch = await readPatch(flags);
      const printer = await WritePrinter.for(flags);
      if (flags.dryRun === 'client') throw badRequest('patches are computed by the server; use --dry-run=server');
      await withSession(command, async (session) => {
        const { targets, failed } = await findTargets(session, words, flags, 'patch');
        let errors = failed;
        for (const target of targets) errors += await patchOne(session, target, patch, { flags, printer });
        if (errors > 0) throw new ExitWith(1);
      });
    });
  withWriteFlags(withManifestFlags(command, 'those that these manifests name'));
}

async function readPatch({ patch, patchFile, type }: PatchFlags): Promise<object> {
  if ((patch === undefined) === (patchFile === undefined)) throw badRequest('give the change with -p or with --patch-file');
  const { parse } = await import('yaml');
  let value: unknown;
  try {
    value = parse(patch ?? readFileSync(patchFile ?? '', 'utf8'));
  } catch (error) {
    const [line = ''] = (error as Error).message.split('\n');
    throw badRequest(`cannot read the patch: ${line.replace(/:$/, '')}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value) !== (type === 'json'))
    throw badRequest(`cannot read the patch: a ${type} patch is ${type === 'json' ? 'a list of operations' : 'an object'}`);
  return value;
}

/** Gives how many failed. */
async function patchOne(
  session: Session,
  { kind, key }: Target,
  patch: object,
  { flags, printer }: { readonly flags: PatchFlags; readonly printer: WritePrinter },
): Promise<number> {
  const { objects } = session.client;
  try {
    checkSubresource(kind, flags.subresource);
    if (isCustom(kind) && flags.type === 'strategic')
      throw badRequest(`cannot patch: ${kind.plural} take no strategic merge patch: use --type=merge or --type=json`);
    const { subresource } = flags;
    // Who may only scale may not read the object.
    const before = await objects.get(kindWord(kind), { ...key, ...(subresource === 'scale' && { subresource }) });
    const target = { ...key, type: flags.type, subresource };
    const after = await objects.patch(kindWord(kind), target, patch, writeOptions(flags, 'berth-patch'));
    await printer.print(kind, after, isUnchanged(before, after) ? 'patched (no change)' : 'patched');
    return 0;
  } catch (error) {
    process.stderr.write(`error: ${describeFailure(error)}\n`);
    return 1;
  }
}

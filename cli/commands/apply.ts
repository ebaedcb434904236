import type { Command } from 'commander';
import { learnKinds } from '../args/other-kinds.ts';
import { writeManifests } from '../manifests/each-manifest.ts';
import type { ManifestFlags } from '../manifests/manifests.ts';
import { type PruneFlags, readPruneFlags, withPruneFlags } from '../prune/prune-flags.ts';
import { withSession } from '../session.ts';
import { planApply } from '../write/apply-object.ts';
import {
  checkServerSideFlags,
  planServerSideApply,
  type ServerSideFlags,
  withServerSideFlags,
} from '../write/server-side-apply.ts';
import { WritePrinter, withManifestFlags, withWriteFlags } from '../write/write-options.ts';

type ApplyFlags = ServerSideFlags & ManifestFlags & PruneFlags;

export function registerApply(program: Command): void {
  const command = program
    .command('apply')
    .description('Create or update objects to match the manifests')
    .action(async (flags: ApplyFlags, command: Command) => {
      checkServerSideFlags(flags);
      const printer = await WritePrinter.for(flags);
      // A kind that users added may be pruned, and none of it be left in the manifests.
      if (flags.prune) await learnKinds();
      const choice = readPruneFlags(flags);
      const { readManifests } = await import('../manifests/manifests.ts');
      const { openPruner, selectDocuments } = await import('../prune/pruner.ts');
      const documents = selectDocuments(await readManifests(flags), flags.selector);
      const planned = flags.serverSide ? planServerSideApply : planApply;
      await withSession(command, async (session) => {
        const pruner = choice && (await openPruner(session, choice, documents, flags));
        await writeManifests(session, documents, {
          async plan(document) {
            const plan = await planned(session, pruner?.member(document) ?? document, flags);
            pruner?.check(document, plan.live);
            return plan;
          },
          print: ({ kind }, object, done) => printer.print(kind, object, done),
        });
        await pruner?.prune(printer);
      });
    });
  withPruneFlags(command);
  withServerSideFlags(command);
  withWriteFlags(withManifestFlags(command, 'file, folder, or - for standard input', { required: true }));
}
